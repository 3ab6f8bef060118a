"""Waiting for the end of a run, by polling."""

import asyncio
import time

from rota.client import Api, ApiError, Json
from rota.errors import CliError
from rota_contracts.messages.execution import ExecStatus, TriggerState

POLL_S = 0.3
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
