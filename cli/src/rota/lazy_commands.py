"""The commands by name. The modules of a command are imported once it is in use: to import all takes a second."""

from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

SETTINGS: Any = {"pretty_exceptions_enable": False, "rich_markup_mode": "markdown"}

COMMANDS = {
    "up": ("up", "Start NATS, MongoDB and the seven services in one process. Ctrl+C stops everything."),
    "demo": (
        "demo",
        "Start everything, post two leads, show who receives the results. Ends by itself; exit code 0 on success.",
    ),
    "apply": ("apply", "Create the definitions in these files, or replace those that exist; members first."),
    "validate": ("apply", "Check these files as `apply` does, without a running Rota. Nothing is changed."),
    "listen": (
        "listen",
        "Receive results as a webhook target does: verify each signature, print the result, and answer.",
    ),
    "trigger": ("trigger", "Trigger a robot now."),
    "intervene": ("intervene", "Instruct a robot: in its current run, in its plan, or as a new run."),
    "answer": ("intervene", "Answer the question of a waiting run."),
    "pause": ("control", "Pause a run, a robot or the team. Runs pause after their current step; no new one starts."),
    "resume": ("control", "Resume a paused run, robot or team."),
    "stop": ("control", "Stop a run, or all runs of a robot or the team. Queued runs are removed from the queue."),
    "clock": ("clock", "Show the runs of a clock, without a server, by the scheduler's own arithmetic."),
    "watch": ("watch", "Show phases, tasks, verdicts and deliveries live, until Ctrl+C."),
    "logs": (
        "logs",
        "Show what happened in a run, in order: time (UTC), phase and event. `rota executions show` has the contents.",
    ),
    "replay": (
        "replay",
        "Replay a run on its recorded answers, without side effects. Exit code 1 if a decision differs.",
    ),
    "audit": ("audit", "List who changed what, the newest first."),
    "spend": ("spend", "Show what the team's calls of models have taken, judges and lessons too."),
    "doctor": ("doctor", "Check everything that Rota needs. Exit code 1 if something required is missing."),
    "upgrade": (
        "upgrade",
        "Check whether a running Rota can be upgraded to this version. Exit code 1 if something is to be done first.",
    ),
    "nats-config": (
        "nats_config",
        "Write the NATS server's configuration and a key per user into a folder. Existing keys are kept.",
    ),
    "context": ("context", "List the contexts, choose the current one, or forget one."),
    "robots": ("robots", "List the team's robots; show one, print its definition, or delete one."),
    "teams": ("teams", "List the teams, create or remove one (needs the admin key)."),
    "members": ("members", "List the people of the team, show one, or delete one."),
    "approvals": ("approvals", "List the calls that wait for an approval, show one, or decide."),
    "plan": ("plan", "List planned items; add, change or remove one."),
    "sources": ("sources", "List the team's event sources; add or show one, rotate its secret, remove it."),
    "events": ("events", "List what came in by webhooks; show one event and its runs."),
    "secrets": ("secrets", "List the team's secrets; set one, or remove one. Robots refer to it as $SECRET.NAME."),
    "subscriptions": ("subscriptions", "List the subscriptions to notifications, add one, or remove one."),
    "feed-clients": ("feed_clients", "Manage the programs of a team that read its deliveries from NATS."),
    "keys": ("keys", "List the team's API keys, create one, or delete one."),
    "executions": ("executions retry_executions", "List the team's runs, show one, or retry some."),
    "quarantine": ("quarantine", "List results that failed validation, show one, release or drop one."),
    "deliveries": ("deliveries replay_deliveries retry_deliveries", "List deliveries, show one, retry or replay some."),
    "targets": ("targets", "List failing and disabled targets; disable or enable one."),
    "suppressions": ("suppressions", "List suppressed addresses, add one, or remove one."),
    "kb": ("knowledge", "Fill, search and clear the team's shared knowledge."),
    "attachments": ("attachments", "List and store files that results can attach, and download them."),
    "files": ("files", "List, show, write and remove the files of a robot."),
    "lessons": ("lessons", "List what a robot has learnt of its runs, and forget it."),
    "agents": ("agents", "List the agents that the team may use, ask one, and see or abort the calls under way."),
    "connectors": (
        "connectors",
        "List the connectors that the team may use and what the model of each can, or test one.",
    ),
    "definitions": (
        "definitions",
        "List the team's own agents, connectors, MCP servers and skills; show one, its history, or delete one.",
    ),
    "rollback": ("rollback", "Write an earlier revision of a definition again. Runs under way keep theirs."),
    "canary": (
        "canary",
        "Show how runs of canaries end, change a canary's share of new runs, promote it, or abort it.",
    ),
    "dead": ("dead", "Messages that no service could handle (needs the admin key)."),
    "webhook": ("webhook", "Send webhooks to Rota."),
}
"""In the order of the help: the modules in `rota.commands`, and the first line of the command's own help."""

OLD_NAMES = {"subscribers": "feed-clients"}
"""They work, and the help doesn't list them."""


class LazyGroup(TyperGroup):
    """Lists and completes the commands by the table; imports the one that is named."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {
            **{name: TyperCommand(name, help=text) for name, (_, text) in COMMANDS.items()},
            **{name: TyperCommand(name, hidden=True) for name in OLD_NAMES},
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(name) if name else command, rest


class ListingGroup(TyperGroup):
    """A group that lists by its bare name does so as `list`, too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        lists = self.invoke_without_command and "list" not in self.commands
        return super().parse_args(ctx, args[1:] if lists and args[:1] == ["list"] else args)


@cache
def load(name: str) -> Any:
    """The command of this name. A group's further modules add their commands to it."""
    name = OLD_NAMES.get(name, name)
    module, *others = (import_module(f"rota.commands.{each}") for each in COMMANDS[name][0].split())
    holder = typer.Typer(**SETTINGS)
    if group := getattr(module, "app", None):
        for other in others:
            other.register(group)
        holder.add_typer(group, name=name, cls=ListingGroup)
    else:
        module.register(holder)
    return get_group(holder).commands[name]
