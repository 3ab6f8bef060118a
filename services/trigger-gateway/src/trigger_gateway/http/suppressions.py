"""The addresses that get no mail of a team any more (F23); the delivery-center keeps them."""

from typing import Annotated

from fastapi import Path, Query, Response
from pydantic import BaseModel, Field

from rota_contracts.catalog import LIST_SUPPRESSIONS, SUPPRESS, UNSUPPRESS
from rota_contracts.messages.targets import ListSuppressions, Suppress, Suppression, SuppressionPage, Unsuppress
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import Strict, UseCasesDep
from trigger_gateway.problems import FieldProblem, Invalid
from trigger_gateway.teams.authenticate import Caller

router = team_router("suppressions")

SHORTEST, LONGEST = 3, 320
ADMINISTRATOR, NAMELESS = "administrator", "a key without a name"


class NewSuppression(Strict):
    address: str = Field(min_length=SHORTEST, max_length=LONGEST)
    reason: str = Field(default="", max_length=500)


class SuppressionList(BaseModel):
    """By address; `next` is empty when there are no more. After a change: what it made."""

    suppressions: list[Suppression]
    next: str = ""


@router.get("/suppressions", summary="List the addresses that get no mail, and why")
async def list_suppressions(
    team: Name,
    use: UseCasesDep,
    after: Annotated[str, Query(max_length=LONGEST, description="the `next` of the answer before")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> SuppressionList:
    return _told(await rpc.call(use.ask, LIST_SUPPRESSIONS, ListSuppressions(team_id=team, after=after, limit=limit)))


@router.post("/suppressions", status_code=201, summary="Send no more mail to an address; again changes nothing")
async def suppress(team: Name, body: NewSuppression, use: UseCasesDep, caller: CallerDep) -> SuppressionList:
    wanted = Suppress(team_id=team, address=body.address, reason=body.reason, by=_who(caller))
    return _told(await rpc.call(use.ask, SUPPRESS, wanted))


@router.delete("/suppressions/{address:path}", status_code=204, summary="Let an address get mail again")
async def unsuppress(
    team: Name, address: Annotated[str, Path(min_length=SHORTEST, max_length=LONGEST)], use: UseCasesDep
) -> Response:
    """One that isn't suppressed is none to change."""
    _told(await rpc.call(use.ask, UNSUPPRESS, Unsuppress(team_id=team, address=address)))
    return Response(status_code=204)


def _told(answer: SuppressionPage) -> SuppressionList:
    if answer.refused:
        fields = [FieldProblem("address", answer.refused)]
        raise Invalid("invalid_request", "the request is not valid", fields)
    return SuppressionList(suppressions=answer.suppressions, next=answer.next)


def _who(caller: Caller) -> str:
    return ADMINISTRATOR if caller.team is None else caller.name or NAMELESS
