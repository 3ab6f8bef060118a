"""`rota rollback`: an earlier revision of a definition, written again."""

from typing import Annotated

import typer

from rota.commands.definitions import Id, Kind, path_of
from rota.output import JsonFlag, say, say_json
from rota.running import with_api


def register(app: typer.Typer) -> None:
    app.command("rollback", epilog="Example: `rota rollback Agent experts.writer --to 7`")(roll_back)


def roll_back(
    kind: Kind,
    definition_id: Id,
    to: Annotated[
        int | None, typer.Option(min=1, metavar="REV", help="As in `rota definitions history`; else the one before.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Write an earlier revision of a definition again. Runs under way keep theirs.

    Also one of a definition that was deleted.
    """
    path = f"{path_of(kind, definition_id)}/rollback"
    found = with_api(lambda api: api.of_team("POST", path, json={"to": to}))
    [done] = found["definitions"]
    if json:
        say_json({name: done[name] for name in ("kind", "id", "outcome", "rev")})
    else:
        say(f"{done['kind']}/{done['id']}: {done['outcome']} (rev {done['rev']})")
