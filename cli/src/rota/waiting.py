"""Waiting for the end of a run and of its delivery, by polling."""

import asyncio
import time
from datetime import datetime, timedelta

from rota.api_error import ApiError
from rota.client import Api, Json
from rota.errors import CliError
from rota.timestamps import now
from rota_contracts.run_status import ExecStatus, TriggerState

POLL_S = 0.3
DELIVERY_S = 10.0
"""The first attempts and the first retry take less; the next ones come after minutes and hours."""

NOT_FOUND, UNAVAILABLE = 404, 503


async def until_finished(api: Api, started: Json, *, timeout: float) -> Json:
    """The execution that a trigger started, once it has finished. `started` holds its `execution_id`, and its
    `trigger_id` unless the execution was already running.

    CliError when the trigger was rejected, when the execution asks a person a question, and after `timeout` seconds,
    with the execution's state.
    """
    deadline, seen = time.monotonic() + timeout, "not started yet"
    while time.monotonic() < deadline:
        try:
            found = await _find(api, started)
        except ApiError as error:
            if error.status != UNAVAILABLE:
                raise
            found, seen = None, str(error)
        if found is not None:
            if ExecStatus(found["status"]).over:
                return found
            _check_question(found)
            seen = f"{found['status']} in phase {found['phase']}"
        await asyncio.sleep(POLL_S)
    raise CliError(
        f"expected execution {started['execution_id']} to finish within {timeout:g} s: it is {seen}",
        hint=f"`rota executions show {started['execution_id']}` and `rota dead list` show more",
    )


async def until_delivered(api: Api, execution_id: str, *, timeout: float = DELIVERY_S) -> Json | None:
    """The delivery of a run that is over: once no target of it is tried any more, or as it stands when nothing more
    can come of it within `timeout` seconds. None if there is none, or the delivery-center doesn't answer."""
    until = now() + timedelta(seconds=timeout)
    while True:
        found = await delivery_of(api, execution_id)
        if found is None or now() >= until or not _goes_on(found, until):
            return found
        await asyncio.sleep(POLL_S)


async def delivery_of(api: Api, execution_id: str) -> Json | None:
    """The delivery of a run; None if there is none yet, or the delivery-center doesn't answer."""
    try:
        return await api.delivery(execution_id)
    except ApiError:
        return None


def _goes_on(found: Json, until: datetime) -> bool:
    """Is a target attempted before then?"""
    from rota_contracts.messages.delivery import DeliveryReply

    delivery = DeliveryReply.model_validate(found)
    pending = [target for target in delivery.targets if not target.result.final]
    later = [each for each in pending if each.attempts and each.next_attempt_at and each.next_attempt_at > until]
    return not delivery.settled and len(later) < len(pending)


def _check_question(execution: Json) -> None:
    """Waiting for an answer has no end of its own."""
    asked, name = execution.get("question"), execution["execution_id"]
    if asked is not None and execution["status"] == ExecStatus.WAITING:
        raise CliError(
            f"execution {name} waits for an answer: {asked['question']}", hint=f'`rota answer {name} "…"` answers it'
        )


async def _find(api: Api, started: Json) -> Json | None:
    """None while it is queued."""
    try:
        return await api.execution(started["execution_id"])
    except ApiError as error:
        if error.status != NOT_FOUND or "trigger_id" not in started:
            raise
    trigger = await api.trigger_state(started["trigger_id"])
    if trigger["state"] == TriggerState.REJECTED:
        raise CliError(f"the trigger was rejected: {trigger['message']}", hint="check the robot's triggers and quota")
    return None
