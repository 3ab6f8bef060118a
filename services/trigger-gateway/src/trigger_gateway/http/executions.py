"""Executions, read from the services that store them."""

from typing import Annotated

from fastapi import Query

from rota_common.errors import Transient
from rota_common.redaction import model_without_credentials
from rota_common.spans.delivery_spans import spans_of
from rota_contracts.catalog import LIST_EXECUTIONS, READ_DELIVERY, READ_EXECUTION, READ_TRACE, READ_TRAIL, REPLAY
from rota_contracts.messages.delivery import DeliveryReply, ReadDelivery
from rota_contracts.messages.execution import ExecStatus, Execution, ExecutionPage, ListExecutions, ReadExecution
from rota_contracts.messages.replay import ReplayExecution, ReplayReply
from rota_contracts.messages.run_trace import ReadTrace, TraceReply
from rota_contracts.messages.run_trail import ReadTrail, TrailReply
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import NotFound

router = team_router("executions")


@router.get("/executions", summary="List executions, of the team or of one robot")
async def list_executions(
    team: Name,
    use: UseCasesDep,
    member_id: Name | None = None,
    status: ExecStatus | None = None,
    page: Annotated[int, Query(ge=1, le=10_000, description="only within the first 10,000; else `after`")] = 1,
    page_size: Annotated[int, Query(ge=1, le=100, deprecated=True, description="`limit` by its old name")] = 10,
    limit: Annotated[int | None, Query(ge=1, le=100, description="by default 10")] = None,
    after: Annotated[str, Query(max_length=500, description="`next` of the page before")] = "",
) -> ExecutionPage:
    question = ListExecutions(
        team_id=team, member_id=member_id, status=status, page=page, page_size=limit or page_size, after=after
    )
    return model_without_credentials(await rpc.call(use.ask, LIST_EXECUTIONS, question))


@router.get("/executions/{execution_id}", summary="Read an execution")
async def read_execution(team: Name, execution_id: str, use: UseCasesDep) -> Execution:
    read = await rpc.call(use.ask, READ_EXECUTION, ReadExecution(team_id=team, execution_id=execution_id))
    if read.execution is None:
        text = f"team {team} has no execution {execution_id}: it may still be queued"
        raise NotFound("execution_not_found", text)
    return model_without_credentials(read.execution)


@router.get("/executions/{execution_id}/delivery", summary="Read an execution's delivery: targets and attempts")
async def read_delivery(team: Name, execution_id: str, use: UseCasesDep) -> DeliveryReply:
    read = await rpc.call(use.ask, READ_DELIVERY, ReadDelivery(team_id=team, execution_id=execution_id))
    if read.request_id is None:
        text = f"team {team} has no delivery of execution {execution_id}: it may not have been requested yet"
        raise NotFound("delivery_not_found", text)
    return model_without_credentials(read)


@router.get(
    "/executions/{execution_id}/trail",
    summary="Read an execution's trail: what its models wrote, and what was made of it",
)
async def read_trail(
    team: Name,
    execution_id: str,
    use: UseCasesDep,
    step: Annotated[int | None, Query(ge=1, description="the number of one step, for all its words")] = None,
) -> TrailReply:
    read = await rpc.call(use.ask, READ_TRAIL, ReadTrail(team_id=team, execution_id=execution_id, step=step))
    if not read.found:
        raise NotFound("execution_not_found", f"team {team} has no execution {execution_id}: it may still be queued")
    if step is not None and not read.steps:
        raise NotFound("step_not_found", f"execution {execution_id} has no step {step}: the trail numbers them from 1")
    return model_without_credentials(read)


@router.get(
    "/executions/{execution_id}/trace",
    summary="Read an execution's trace: its spans, from its start to its delivery",
)
async def read_trace(team: Name, execution_id: str, use: UseCasesDep) -> TraceReply:
    """Attempts at delivery are left out while the delivery-center doesn't answer."""
    read = await rpc.call(use.ask, READ_TRACE, ReadTrace(team_id=team, execution_id=execution_id))
    if not read.found:
        raise NotFound("execution_not_found", f"team {team} has no execution {execution_id}: it may still be queued")
    try:
        delivery = await rpc.call(use.ask, READ_DELIVERY, ReadDelivery(team_id=team, execution_id=execution_id))
    except Transient:
        delivery = DeliveryReply()
    spans = [*read.spans, *spans_of(delivery, trace_id=read.trace_id)]
    return model_without_credentials(read.model_copy(update={"spans": spans}))


@router.post(
    "/executions/{execution_id}/replay",
    summary="Replay an execution on its recorded results; nothing is sent or changed",
)
async def replay_execution(team: Name, execution_id: str, use: UseCasesDep) -> ReplayReply:
    replayed = await rpc.call(use.ask, REPLAY, ReplayExecution(team_id=team, execution_id=execution_id))
    if not replayed.found:
        raise NotFound("execution_not_found", f"team {team} has no execution {execution_id} that can be replayed")
    return model_without_credentials(replayed)
