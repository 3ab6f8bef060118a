"""The model: an HTTP server that the rehearsal connector asks, as it would ask a real one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.chaos.external_systems.http import serving
from tests.chaos.robots import Asked, answer
from tests.chaos.trap import Signals
from tests.chaos.witness import Call, Witness

SECONDS = (0.005, 0.05)
"""How long it thinks, so that kills land inside a call."""


@asynccontextmanager
async def model(witness: Witness, signals: Signals, random: Random) -> AsyncIterator[str]:
    """Yields the URL to be set as the connector's host."""

    async def complete(request: Request) -> Response:
        asked = understood(await request.json())
        witness.called(Call(asked.lead, asked.step_id, asked.place, moment=asked.place))
        step = "model run after tools" if asked.rounds else f"model {asked.kind}"
        await signals.reached(step, asked.lead)
        await asyncio.sleep(random.uniform(*SECONDS))
        return JSONResponse(answer(asked))

    routes = [Route("/{anything:path}", complete, methods=["POST"])]
    async with serving(Starlette(routes=routes)) as url:
        yield url


def understood(body: dict[str, Any]) -> Asked:
    """The facts say whose execution it is and which task; a task's description ends in its id."""
    facts = body["facts"]
    return Asked(
        step_id=body["step_id"],
        kind=body["kind"],
        lead=facts["data"]["lead"],
        robot=facts["role"],
        task=str(facts.get("task", "")).rpartition(" ")[2],
        rounds=body["rounds"],
        tools={tool["tool"]: tool["name"] for tool in facts["tools"]},
    )
