"""The command `rota`: its groups of commands, its error output and exit codes."""

import sys
from collections.abc import Sequence
from importlib.metadata import version as version_of
from typing import Annotated

import typer

from rota import context as contexts
from rota.commands import (
    apply,
    approvals,
    attachments,
    audit,
    clock,
    context,
    control,
    dead,
    deliveries,
    demo,
    doctor,
    events,
    executions,
    feed_clients,
    files,
    intervene,
    keys,
    knowledge,
    lessons,
    listen,
    logs,
    members,
    nats_config,
    plan,
    quarantine,
    replay,
    replay_deliveries,
    retry_deliveries,
    retry_executions,
    robots,
    secrets,
    sources,
    spend,
    subscriptions,
    suppressions,
    targets,
    teams,
    trigger,
    up,
    watch,
    webhook,
)
from rota.errors import CliError
from rota.output import print_error, say

FAILED, INTERRUPTED = 1, 130

app = typer.Typer(
    name="rota",
    help="Rota runs robot agents. `rota up` starts everything here; the other commands are clients of a running Rota.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"rota {version_of('rota')}")
        raise typer.Exit


@app.callback()
def options(
    at: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    context: Annotated[
        str,
        typer.Option(help="Act on this context's Rota, as in `rota context`. Default: ROTA_CONTEXT, else the current."),
    ] = "",
) -> None:
    token = contexts.choose(context)
    at.call_on_close(lambda: contexts.end_choice(token))


for group in (
    up,
    demo,
    apply,
    listen,
    trigger,
    intervene,
    control,
    clock,
    watch,
    logs,
    replay,
    audit,
    spend,
    doctor,
    nats_config,
):
    group.register(app)
replay_deliveries.register(deliveries.app)
retry_deliveries.register(deliveries.app)
retry_executions.register(executions.app)
for name, commands in (
    ("context", context.app),
    ("robots", robots.app),
    ("teams", teams.app),
    ("members", members.app),
    ("approvals", approvals.app),
    ("plan", plan.app),
    ("sources", sources.app),
    ("events", events.app),
    ("secrets", secrets.app),
    ("subscriptions", subscriptions.app),
    ("feed-clients", feed_clients.app),
    ("keys", keys.app),
    ("executions", executions.app),
    ("quarantine", quarantine.app),
    ("deliveries", deliveries.app),
    ("targets", targets.app),
    ("suppressions", suppressions.app),
    ("kb", knowledge.app),
    ("attachments", attachments.app),
    ("files", files.app),
    ("lessons", lessons.app),
    ("dead", dead.app),
    ("webhook", webhook.app),
):
    app.add_typer(commands, name=name)
app.add_typer(feed_clients.app, name=feed_clients.OLD_NAME, hidden=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Exit codes: 0 success, 1 failure, 2 wrong usage, 130 Ctrl+C."""
    try:
        app(arguments)
    except CliError as error:
        print_error(error)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
