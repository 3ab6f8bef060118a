"""Waiting for a run to be over, by asking for it."""

import asyncio
import time

from rota.client import Api, ApiError, Json
from rota.errors import CliError
from rota_contracts.execution import ExecStatus

POLL_S = 0.3
NOT_FOUND = 404


async def until_over(api: Api, execution_id: str, *, timeout: float) -> Json:
    """The execution, once it has ended. CliError after `timeout` seconds, with how far it has come."""
    deadline, seen = time.monotonic() + timeout, "not taken up yet"
    while time.monotonic() < deadline:
        found = await _find(api, execution_id)
        if found is not None:
            if ExecStatus(found["status"]).over:
                return found
            seen = f"{found['status']} in phase {found.get('phase')}"
        await asyncio.sleep(POLL_S)
    raise CliError(
        f"expected execution {execution_id} to end within {timeout:g} s: it is {seen}",
        hint=f"`rota executions show {execution_id}` and `rota dead list` tell more",
    )


async def _find(api: Api, execution_id: str) -> Json | None:
    """None while it only stands in the queue."""
    try:
        return await api.execution(execution_id)
    except ApiError as error:
        if error.status == NOT_FOUND:
            return None
        raise
