"""An execution as programs outside see it: now, or once it is over or waits for a person."""

import asyncio
from typing import Any

from rota_common.bus.live import Events
from rota_common.redaction import model_without_credentials
from rota_contracts.catalog import ACTIVITY, EXECUTION_FINISHED, EXECUTION_PARKED, READ_EXECUTION, READ_TRIGGER
from rota_contracts.envelope import Event
from rota_contracts.messages.activity import ActivityV1
from rota_contracts.messages.execution import ExecStatus, Execution, ReadExecution, ReadTrigger, TriggerState
from rota_contracts.model import Json
from trigger_gateway import rpc
from trigger_gateway.mcp.tool import Progress
from trigger_gateway.problems import NotFound
from trigger_gateway.use_cases import UseCases

MOST_WAIT_S = 55
"""Seconds that one question waits: many clients give up after 60."""

RESTING = frozenset(
    {ExecStatus.COMPLETED, ExecStatus.FAILED, ExecStatus.CANCELLED, ExecStatus.WAITING, ExecStatus.PAUSED}
)


async def follow(use: UseCases, team: str, execution_id: str, *, within: float, progress: Progress) -> dict[str, Json]:
    """Raise NotFound for an execution that isn't the team's, Transient when the executor doesn't answer."""
    if not within:
        return _state(execution_id, await _read(use, team, execution_id))
    async with use.live.listen([ACTIVITY, EXECUTION_FINISHED, EXECUTION_PARKED], team=team) as heard:
        found = await _read(use, team, execution_id)
        try:
            async with asyncio.timeout(within):
                while found is None or found.status not in RESTING:
                    await _changed(heard, execution_id, progress)
                    found = await _read(use, team, execution_id)
        except TimeoutError:
            pass
        return _state(execution_id, found)


async def _changed(heard: Events, execution_id: str, progress: Progress) -> None:
    """Return when it is over or parked; report what it does until then."""
    while True:
        event: Event[Any] = await heard.next()
        if event.data.execution_id != execution_id:
            continue
        if not isinstance(event.data, ActivityV1):
            return
        if event.data.text:
            await progress(f"{event.data.phase}: {event.data.text}")


async def _read(use: UseCases, team: str, execution_id: str) -> Execution | None:
    """None for one that has not begun."""
    read = await rpc.call(use.ask, READ_EXECUTION, ReadExecution(team_id=team, execution_id=execution_id))
    if read.execution is not None:
        return model_without_credentials(read.execution)
    question = ReadTrigger(team_id=team, trigger_id="", execution_id=execution_id)
    queued = await rpc.call(use.ask, READ_TRIGGER, question)
    if queued.state is TriggerState.REJECTED:
        raise NotFound("execution_not_found", f"execution {execution_id} was rejected: {queued.message}")
    if queued.state is TriggerState.UNKNOWN:
        raise NotFound("execution_not_found", f"team {team} has no execution {execution_id}")
    return None


def _state(execution_id: str, found: Execution | None) -> dict[str, Json]:
    if found is None:
        return {"execution_id": execution_id, "status": ExecStatus.PENDING}
    return _shown(found)


def _shown(execution: Execution) -> dict[str, Json]:
    """Its state, its question, and its result: a long body is left out, and the API has it."""
    content = execution.content
    body = content.body.inline if content else None
    question = execution.question
    found: dict[str, Json] = {
        "execution_id": execution.execution_id,
        "status": execution.status,
        "phase": execution.phase,
        "progress": execution.progress.model_dump(mode="json"),
        "question": question.model_dump(mode="json")["question"] if question else None,
        "summary": content.summary if content else None,
        "answer": body or (content.summary if content else None),
        "result": content.result if content else None,
        "error": execution.error,
    }
    return {name: value for name, value in found.items() if value is not None}
