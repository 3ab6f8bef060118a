"""Executions that don't end: their state in the gateway's API, and the last lines of the services' logs."""

from collections.abc import AsyncIterator
from typing import Any

import httpx

from rota_contracts.catalog import SERVICES
from tests.chaos.robots import TEAM
from tests.chaos.scoreboard import Entry
from tests.chaos.system import ADMIN_KEY, System

SHOWN = 10
LINES = 8


async def stuck(system: System, entries: list[Entry]) -> AsyncIterator[str]:
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    url = f"{system.gateway}/v1/teams/{TEAM}"
    async with httpx.AsyncClient(headers=headers, trust_env=False, timeout=10) as client:
        for entry in entries[:SHOWN]:
            trigger = await _read(client, f"{url}/triggers/{entry.trigger_id}")
            execution = await _read(client, f"{url}/executions/{entry.execution_id}")
            state = trigger.get("state", trigger)
            yield f"{entry.lead} ({entry.robot}, execution {entry.execution_id}): trigger {state}"
            yield f"  {_state(execution)}"
    for service in SERVICES:
        yield f"last lines of {service}:"
        for line in system.processes.log(service).splitlines()[-LINES:]:
            yield f"  {line[:400]}"


async def _read(client: httpx.AsyncClient, url: str) -> dict[str, Any]:
    try:
        answer = await client.get(url)
        found: dict[str, Any] = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        return {"error": repr(error)}
    return found


def _state(execution: dict[str, Any]) -> str:
    if "status" not in execution:
        return f"no execution: {execution}"
    results = [f"{result['task_id']} {result['status']}" for result in execution.get("results", [])]
    return f"{execution['status']} in {execution['phase']}, results: {', '.join(results) or 'none'}"
