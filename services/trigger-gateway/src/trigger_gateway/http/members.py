"""Members who are people: create, list, read, replace, delete."""

from typing import Annotated, Any

from fastapi import Body, Query, Response
from pydantic import BaseModel, Field

from rota_contracts.members import MemberDefinition
from rota_contracts.model import Instant, Name
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.members.member import Member

router = team_router("members")

Raw = Annotated[dict[str, Any], Body()]


class MemberView(MemberDefinition):
    """A member as the API shows it."""

    team_id: Name
    created_at: Instant
    rev: int


class MemberPage(BaseModel):
    """By id; `next` is empty on the last page."""

    members: list[MemberView]
    next: str = Field(default="", description="`after` of the next page")


def _takes(*required: str) -> dict[str, Any]:
    """The documentation of such a body, which the contract itself parses strictly; FastAPI wouldn't."""
    schema = MemberDefinition.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"content": {"application/json": {"schema": schema | {"required": list(required)}}}}}


@router.post("/members", status_code=201, summary="Add a person", openapi_extra=_takes("member_id", "email"))
async def create_member(team: Name, body: Raw, use: UseCasesDep, caller: CallerDep) -> MemberView:
    """Of at most the caller's own role."""
    return _view(await use.members.create(team, body, by=caller))


@router.get("/members", summary="List the people of the team")
async def list_members(
    team: Name,
    use: UseCasesDep,
    after: Annotated[str, Query(max_length=64, description="`next` of the page before")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> MemberPage:
    found = await use.members.page(team, after=after, limit=limit + 1)
    shown = [_view(each) for each in found[:limit]]
    return MemberPage(members=shown, next=shown[-1].member_id if len(found) > limit else "")


@router.get("/members/{member}", summary="Read a person's record")
async def read_member(team: Name, member: Name, use: UseCasesDep) -> MemberView:
    return _view(await use.members.read(team, member))


@router.put("/members/{member}", summary="Replace a person's record", openapi_extra=_takes("email"))
async def change_member(team: Name, member: Name, body: Raw, use: UseCasesDep, caller: CallerDep) -> MemberView:
    """Links to approvals that were mailed to another address than the new one are void."""
    return _view(await use.members.change(team, member, body, by=caller))


@router.delete("/members/{member}", status_code=204, summary="Delete a person: links mailed to them are void")
async def delete_member(team: Name, member: Name, use: UseCasesDep, caller: CallerDep) -> Response:
    """Robots whose manager this is keep the name, and notify no one until they get another manager."""
    await use.members.remove(team, member, by=caller)
    return Response(status_code=204)


def _view(member: Member) -> MemberView:
    known = {"team_id": member.team, "created_at": member.created_at, "rev": member.rev}
    return MemberView.model_validate({**member.definition.model_dump(), **known})
