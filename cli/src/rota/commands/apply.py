"""`rota apply` and `rota validate`: robots, members, agents, connectors and MCP servers from files."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rota.apply_warnings import warnings
from rota.applying import Options, apply_all, apply_set
from rota.client import Api, Json
from rota.deleting import YesFlag
from rota.differences import differences
from rota.errors import CliError
from rota.kinds import Definition, named_by, read_all
from rota.known_definitions import until_known
from rota.output import JsonFlag, say, say_json, warn
from rota.result_schema import check_result_schema
from rota.running import with_api

DIFFERENT = 1
WAIT_S = 60.0


def register(app: typer.Typer) -> None:
    app.command("apply", epilog="Example: `rota apply -f team/ --diff`, then `rota apply -f team/ --wait`")(apply)
    app.command("validate", epilog="Example: `rota validate -f robot.yaml`, or `… | rota validate -f -`")(validate)


Files = Annotated[
    list[Path],
    typer.Option(
        "--file", "-f", help="A file of YAML, an agent's Markdown, or a folder of such; - for standard input."
    ),
]


def apply(
    file: Files,
    diff: Annotated[bool, typer.Option("--diff", help="Only show what would change; exit code 1 if anything.")] = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Delete the team's own agents, connectors, servers and skills that no file has."),
    ] = False,
    canary: Annotated[
        int | None,
        typer.Option(min=1, max=99, metavar="PERCENT", help="Only so many of new runs begin with these definitions."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Until all executors know the definitions.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds that --wait takes at most.")] = WAIT_S,
    yes: YesFlag = False,
    json: JsonFlag = False,
) -> None:
    """Create the definitions in these files, or replace those that exist; members first.

    A document with `kind: Agent`, `Connector`, `MCPServer` or `Skill` is one of the team's own, as are agents in
    Markdown and folders with a SKILL.md: all of them are applied as one, or none. `kind: Member` is a person, and a
    document without `kind` a robot. Sources, secrets, agents and MCP servers that aren't there yet are warned of.
    """
    definitions, options = read_all(file), Options(prune, canary)
    if diff:
        _show(with_api(lambda api: differences(api, definitions, options)))
        return
    if prune and not yes:
        _confirm(definitions, options)

    async def apply_and_check(api: Api) -> list[str]:
        async for outcome in apply_all(api, definitions, options):
            _report(outcome, json=json)
        if wait:
            await until_known(api, timeout=timeout)
        return await warnings(api, definitions)

    for text in with_api(apply_and_check):
        warn(text)


def _report(outcome: Json, *, json: bool) -> None:
    if json:
        say_json(outcome)
    else:
        say(f"{_name(outcome)}: {outcome['outcome']} (rev {outcome['rev']})")


def _show(diffs: Sequence[str]) -> None:
    for text in diffs:
        say(text)
    if diffs:
        raise typer.Exit(DIFFERENT)


def _confirm(definitions: Sequence[Definition], options: Options) -> None:
    """Ask before anything is deleted; where no one can answer, --yes must be there."""
    changes = with_api(lambda api: apply_set(api, definitions, options, dry_run=True))["definitions"]
    if gone := [_name(each) for each in changes if each["outcome"] == "deleted"]:
        if not sys.stdin.isatty():
            raise CliError(f"--prune would delete {', '.join(gone)}", hint="add --yes to do so")
        typer.confirm(f"Delete {', '.join(gone)}?", abort=True, err=True)


def _name(outcome: Json) -> str:
    return f"{outcome['kind']}/{outcome['id']}" if "kind" in outcome else str(outcome["member_id"])


def validate(file: Files, json: JsonFlag = False) -> None:
    """Check these files as `apply` does, without a running Rota. Nothing is changed.

    What only a running Rota knows isn't checked: whether secrets, sources, managers, agents, connectors and MCP servers
    are there. A delivery.schema is checked where the extra `server` is installed.
    """
    for definition in read_all(file):
        check_result_schema(definition)
        named = named_by(definition)
        if json:
            say_json(named | {"valid": True})
        else:
            say(f"{'/'.join(named.values())}: valid")
