"""The spending of a team on calls of models."""

from typing import Annotated

from fastapi import Query

from rota_contracts.catalog import READ_SPEND
from rota_contracts.messages.spend import ReadSpend, SpendBy, SpendReply
from rota_contracts.model import Instant, Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep

router = team_router("spend")


@router.get("/spend", summary="Sum up what calls of models have taken, by robot, agent, model or day")
async def read_spend(
    team: Name,
    use: UseCasesDep,
    since: Annotated[Instant, Query(description="of runs that began since then")],
    by: Annotated[list[SpendBy] | None, Query(max_length=4, description="robot, if none is given")] = None,
    member_id: Name | None = None,
) -> SpendReply:
    question = ReadSpend(team_id=team, since=since, by=by or [SpendBy.ROBOT], member_id=member_id)
    return await rpc.call(use.ask, READ_SPEND, question)
