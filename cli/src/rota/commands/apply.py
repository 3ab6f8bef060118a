"""`rota apply`: robots and members from files."""

from pathlib import Path
from typing import Annotated

import typer

from rota.applying import apply_all
from rota.kinds import read_kinds
from rota.output import JsonFlag, say, say_json
from rota.running import with_api


def register(app: typer.Typer) -> None:
    app.command("apply", epilog="Example: `rota apply -f examples/robots/lead-processor.yaml`")(apply)


def apply(
    file: Annotated[list[Path], typer.Option("--file", "-f", help="YAML of robots and members; - for standard input.")],
    json: JsonFlag = False,
) -> None:
    """Create the robots and members in these files, or replace those that exist; members first.

    A document with `kind: Member` is a person, one without `kind` is a robot.
    """
    definitions = [definition for path in file for definition in read_kinds(path)]
    for outcome in with_api(lambda api: apply_all(api, definitions)):
        if json:
            say_json(outcome)
        else:
            say(f"{outcome['member_id']}: {outcome['outcome']} (rev {outcome['rev']})")
