"""Waiting for a run to be over, by asking for it."""

import asyncio
import time

from rota.client import Api, ApiError, Json
from rota.errors import CliError
from rota_contracts.messages.execution import ExecStatus, TriggerState

POLL_S = 0.3
NOT_FOUND = 404


async def until_over(api: Api, woken: Json, *, timeout: float) -> Json:
    """The execution that a trigger started, once it has ended. `woken` holds its `execution_id`, and its `trigger_id`
    unless it was under way already.

    CliError when the trigger was rejected, and after `timeout` seconds, with how far it has come.
    """
    deadline, seen = time.monotonic() + timeout, "not taken up yet"
    while time.monotonic() < deadline:
        found = await _find(api, woken)
        if found is not None:
            if ExecStatus(found["status"]).over:
                return found
            seen = f"{found['status']} in phase {found['phase']}"
        await asyncio.sleep(POLL_S)
    raise CliError(
        f"expected execution {woken['execution_id']} to end within {timeout:g} s: it is {seen}",
        hint=f"`rota executions show {woken['execution_id']}` and `rota dead list` tell more",
    )


async def _find(api: Api, woken: Json) -> Json | None:
    """None while it stands in the queue."""
    try:
        return await api.execution(woken["execution_id"])
    except ApiError as error:
        if error.status != NOT_FOUND or "trigger_id" not in woken:
            raise
    trigger = await api.trigger_state(woken["trigger_id"])
    if trigger["state"] == TriggerState.REJECTED:
        raise CliError(f"the trigger was rejected: {trigger['message']}", hint="see the robot's triggers and quota")
    return None
