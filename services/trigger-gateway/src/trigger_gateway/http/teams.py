"""Teams and their API keys."""

from typing import Annotated

from fastapi import Body, Response
from pydantic import BaseModel, ConfigDict, Field

from rota_contracts.model import Instant, Name
from rota_contracts.roles import Role
from trigger_gateway.http.auth_routes import CallerDep, admin_router, team_router
from trigger_gateway.http.dependencies import PartsDep

admin = admin_router("teams")
team_keys = team_router("keys")


class Strict(BaseModel):
    """A field that isn't known is an error, because it is most likely a typing error."""

    model_config = ConfigDict(extra="forbid")


class NewTeam(Strict):
    team_id: Name | None = Field(default=None, description="made up when missing")
    name: str = Field(default="", max_length=200)


class TeamCreated(BaseModel):
    """The key is shown here and never again."""

    team_id: str
    key_id: str
    api_key: str


class NewKey(Strict):
    role: Role = Field(default=Role.MEMBER, description="not above that of the key that makes it")
    name: str = Field(default="", max_length=100, description="whose it is; its holder subscribes under this name")


class KeyCreated(BaseModel):
    """The key is shown here and never again."""

    key_id: str
    api_key: str
    role: Role
    name: str


class KeyView(BaseModel):
    key_id: str
    role: Role
    name: str
    created_at: Instant


class KeyList(BaseModel):
    keys: list[KeyView]


@admin.post("/teams", status_code=201, summary="Create a team and its first key, of the role owner")
async def create_team(body: NewTeam, parts: PartsDep) -> TeamCreated:
    new = await parts.teams.create(body.team_id, body.name)
    return TeamCreated(team_id=new.key.team, key_id=new.key.key_id, api_key=new.text)


@team_keys.post("/keys", status_code=201, summary="Make another key")
async def create_key(
    team: Name, parts: PartsDep, caller: CallerDep, body: Annotated[NewKey | None, Body()] = None
) -> KeyCreated:
    wanted = body or NewKey()
    new = await parts.teams.add_key(team, wanted.role, wanted.name, by=caller)
    return KeyCreated(key_id=new.key.key_id, api_key=new.text, role=new.key.role, name=new.key.name)


@team_keys.get("/keys", summary="List the keys, without their secrets")
async def list_keys(team: Name, parts: PartsDep) -> KeyList:
    return KeyList(
        keys=[
            KeyView(key_id=key.key_id, role=key.role, name=key.name, created_at=key.created_at)
            for key in await parts.teams.list_keys(team)
        ]
    )


@team_keys.delete("/keys/{key_id}", status_code=204, summary="Delete a key: it stops working at once")
async def delete_key(team: Name, key_id: str, parts: PartsDep) -> Response:
    await parts.teams.remove_key(team, key_id)
    return Response(status_code=204)
