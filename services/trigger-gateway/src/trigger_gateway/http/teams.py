"""Teams and their API keys."""

from typing import Annotated

from fastapi import Body, Query, Response
from pydantic import BaseModel, Field

from rota_contracts.model import Instant, Name
from rota_contracts.roles import Role
from trigger_gateway.http.auth_routes import CallerDep, admin_router, team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.strict import Strict
from trigger_gateway.teams.api_keys import Holder

admin = admin_router("teams")
team_keys = team_router("keys")


class NewTeam(Strict):
    team_id: Name | None = Field(default=None, description="generated when missing")
    name: str = Field(default="", max_length=200)


class TeamCreated(BaseModel):
    """The key is shown here and never again."""

    team_id: str
    key_id: str
    api_key: str


class TeamView(BaseModel):
    team_id: str
    name: str


class TeamPage(BaseModel):
    """`next` is the `after` of the next page; null on the last one."""

    teams: list[TeamView]
    next: str | None


class TeamRemoved(BaseModel):
    """It is removed for all who call; what the services keep of it goes in the minutes after."""

    team_id: str
    removed_at: Instant
    name_free_at: Instant = Field(description="until then no team can have this name")


class NewKey(Strict):
    role: Role = Field(default=Role.MEMBER, description="at most that of the key that creates it")
    name: str = Field(default="", max_length=100, description="of its holder, who subscribes under this name")
    member_id: Name | None = Field(default=None, description="the person that it is for, who calls agents with it")


class KeyCreated(BaseModel):
    """The key is shown here and never again."""

    key_id: str
    api_key: str
    role: Role
    name: str
    member_id: str | None = None


class KeyView(BaseModel):
    key_id: str
    role: Role
    name: str
    member_id: str | None = Field(default=None, description="the person that it is for")
    created_at: Instant


class KeyList(BaseModel):
    keys: list[KeyView]


@admin.post("/teams", status_code=201, summary="Create a team and its first key, of the role owner")
async def create_team(body: NewTeam, use: UseCasesDep) -> TeamCreated:
    new = await use.teams.create(body.team_id, body.name)
    return TeamCreated(team_id=new.key.team, key_id=new.key.key_id, api_key=new.text)


@admin.get("/teams", summary="List the teams by id")
async def list_teams(
    use: UseCasesDep,
    after: Annotated[str, Query(max_length=64)] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> TeamPage:
    found, following = await use.teams.page(after=after, limit=limit)
    return TeamPage(teams=[TeamView(team_id=each.id, name=each.name) for each in found], next=following)


@admin.delete("/teams/{team}", status_code=202, summary="Remove a team and all that is kept of it, for ever")
async def remove_team(team: Name, use: UseCasesDep) -> TeamRemoved:
    removed = await use.remove_team(team)
    return TeamRemoved(team_id=removed.id, removed_at=removed.removed_at, name_free_at=removed.name_free_at)


@team_keys.post("/keys", status_code=201, summary="Create a key")
async def create_key(
    team: Name, use: UseCasesDep, caller: CallerDep, body: Annotated[NewKey | None, Body()] = None
) -> KeyCreated:
    wanted = body or NewKey()
    person = None if wanted.member_id is None else await use.members.read(team, wanted.member_id)
    holder = None if person is None else Holder(person.definition.member_id, person.created_at)
    new = await use.teams.add_key(team, wanted.role, wanted.name, by=caller, holder=holder)
    return KeyCreated(
        key_id=new.key.key_id, api_key=new.text, role=new.key.role, name=new.key.name, member_id=wanted.member_id
    )


@team_keys.get("/keys", summary="List the keys, without their secrets")
async def list_keys(team: Name, use: UseCasesDep) -> KeyList:
    return KeyList(
        keys=[
            KeyView(
                key_id=key.key_id,
                role=key.role,
                name=key.name,
                member_id=key.holder.member_id if key.holder else None,
                created_at=key.created_at,
            )
            for key in await use.teams.list_keys(team)
        ]
    )


@team_keys.delete("/keys/{key_id}", status_code=204, summary="Delete a key; it stops working at once")
async def delete_key(team: Name, key_id: str, use: UseCasesDep) -> Response:
    await use.teams.remove_key(team, key_id)
    return Response(status_code=204)
