"""`rota apply` and `rota validate`: robots and members from files."""

from pathlib import Path
from typing import Annotated

import typer

from rota.apply_warnings import warnings
from rota.applying import apply_all
from rota.client import Api, Json
from rota.kinds import read_kinds
from rota.output import JsonFlag, say, say_json, warn
from rota.result_schema import check_result_schema
from rota.running import with_api


def register(app: typer.Typer) -> None:
    app.command("apply", epilog="Example: `rota apply -f examples/robots/lead-processor.yaml`")(apply)
    app.command("validate", epilog="Example: `rota validate -f robot.yaml`, or `… | rota validate -f -`")(validate)


Files = Annotated[list[Path], typer.Option("--file", "-f", help="YAML of robots and members; - for standard input.")]


def apply(
    file: Files,
    json: JsonFlag = False,
) -> None:
    """Create the robots and members in these files, or replace those that exist; members first.

    A document with `kind: Member` is a person, one without `kind` is a robot. Sources, secrets, agents and MCP servers
    that aren't there yet are warned of.
    """
    definitions = [definition for path in file for definition in read_kinds(path)]

    async def apply_and_check(api: Api) -> tuple[list[Json], list[str]]:
        return await apply_all(api, definitions), await warnings(api, definitions)

    outcomes, found = with_api(apply_and_check)
    for outcome in outcomes:
        if json:
            say_json(outcome)
        else:
            say(f"{outcome['member_id']}: {outcome['outcome']} (rev {outcome['rev']})")
    for text in found:
        warn(text)


def validate(file: Files, json: JsonFlag = False) -> None:
    """Check these files as `apply` does, without a running Rota. Nothing is changed.

    What only a running Rota knows isn't checked: whether secrets, sources, managers and MCP servers are there. A
    delivery.schema is checked where the extra `server` is installed.
    """
    for path in file:
        for definition in read_kinds(path):
            check_result_schema(definition)
            if json:
                say_json({"member_id": definition.member_id, "valid": True})
            else:
                say(f"{definition.member_id}: valid")
