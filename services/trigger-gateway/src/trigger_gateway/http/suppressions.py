"""Mail suppressions of a team; the delivery-center stores them."""

from typing import Annotated

from fastapi import Path, Query, Response
from pydantic import BaseModel, Field

from rota_contracts.catalog import LIST_SUPPRESSIONS, SUPPRESS, UNSUPPRESS
from rota_contracts.messages.targets import ListSuppressions, Suppress, Suppression, SuppressionPage, Unsuppress
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import FieldProblem, Invalid
from trigger_gateway.strict import Strict
from trigger_gateway.teams.authenticate import Caller

router = team_router("suppressions")

SHORTEST, LONGEST = 3, 320
ADMINISTRATOR, NAMELESS = "administrator", "a key without a name"


class NewSuppression(Strict):
    address: str = Field(min_length=SHORTEST, max_length=LONGEST)
    reason: str = Field(default="", max_length=500)


class SuppressionList(BaseModel):
    """By address; `next` is empty on the last page. After a change: the changed entries."""

    suppressions: list[Suppression]
    next: str = ""


@router.get("/suppressions", summary="List the suppressed mail addresses and their reasons")
async def list_suppressions(
    team: Name,
    use: UseCasesDep,
    after: Annotated[str, Query(max_length=LONGEST, description="`next` of the previous page")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> SuppressionList:
    return _list(await rpc.call(use.ask, LIST_SUPPRESSIONS, ListSuppressions(team_id=team, after=after, limit=limit)))


@router.post("/suppressions", status_code=201, summary="Suppress mail to an address; a repeat changes nothing")
async def suppress(team: Name, body: NewSuppression, use: UseCasesDep, caller: CallerDep) -> SuppressionList:
    wanted = Suppress(team_id=team, address=body.address, reason=body.reason, by=author(caller))
    return _list(await rpc.call(use.ask, SUPPRESS, wanted))


@router.delete("/suppressions/{address:path}", status_code=204, summary="Remove a suppression")
async def unsuppress(
    team: Name, address: Annotated[str, Path(min_length=SHORTEST, max_length=LONGEST)], use: UseCasesDep
) -> Response:
    """Succeeds if there is none."""
    _list(await rpc.call(use.ask, UNSUPPRESS, Unsuppress(team_id=team, address=address)))
    return Response(status_code=204)


def _list(answer: SuppressionPage) -> SuppressionList:
    if answer.refused:
        fields = [FieldProblem("address", answer.refused)]
        raise Invalid("invalid_request", "the request is not valid", fields=fields)
    return SuppressionList(suppressions=answer.suppressions, next=answer.next)


def author(caller: Caller) -> str:
    return ADMINISTRATOR if caller.team is None else caller.name or NAMELESS
