"""`rota rollback`: an earlier revision of a definition, written again."""

from enum import StrEnum
from typing import Annotated
from urllib.parse import quote

import typer

from rota.client import Api, Json
from rota.commands.definitions import path_of
from rota.kinds import ROBOT
from rota.output import JsonFlag, say, say_json
from rota.running import with_api
from rota_contracts.definitions.definition import DefinitionKind


def register(app: typer.Typer) -> None:
    app.command("rollback", epilog="Example: `rota rollback Agent experts.writer --to 7`")(roll_back)


class Kind(StrEnum):
    """As in YAML's `kind`."""

    ROBOT = ROBOT
    AGENT = DefinitionKind.AGENT
    CONNECTOR = DefinitionKind.CONNECTOR
    MCP_SERVER = DefinitionKind.MCP_SERVER
    SKILL = DefinitionKind.SKILL


def roll_back(
    kind: Annotated[Kind, typer.Argument(case_sensitive=False, help="Robot, Agent, Connector, MCPServer or Skill.")],
    definition_id: Annotated[str, typer.Argument(metavar="ID")],
    to: Annotated[
        int | None, typer.Option(min=1, metavar="REV", help="As `history` shows it; else the one before.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Write an earlier revision of a definition again. Runs under way keep theirs.

    Also one of a definition that was deleted.
    """
    done = with_api(lambda api: _rolled_back(api, kind, definition_id, to))
    if json:
        say_json(done)
    else:
        say(f"{kind}/{definition_id}: {done['outcome']} (rev {done['rev']})")


async def _rolled_back(api: Api, kind: Kind, definition_id: str, to: int | None) -> Json:
    if kind is Kind.ROBOT:
        path = f"/robots/{quote(definition_id, safe='')}/rollback"
        robot = await api.of_team("POST", path, json={"to": to})
        return {"kind": kind, "id": definition_id, "outcome": "changed", "rev": robot["rev"]}
    path = f"{path_of(DefinitionKind(kind), definition_id)}/rollback"
    [done] = (await api.of_team("POST", path, json={"to": to}))["definitions"]
    return {name: done[name] for name in ("kind", "id", "outcome", "rev")}
