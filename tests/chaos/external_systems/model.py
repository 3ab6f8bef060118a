"""The model: an HTTP server that the rehearsal connector calls as it would call a real one."""

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
from tests.chaos.robots import ModelCall, answer
from tests.chaos.trap import Traps
from tests.chaos.witness import Call, Witness

SECONDS = (0.005, 0.05)
"""Duration of a call, so that kills land inside one."""


@asynccontextmanager
async def model(witness: Witness, traps: Traps, random: Random) -> AsyncIterator[str]:
    """Yields the URL to be set as the connector's host."""

    async def complete(request: Request) -> Response:
        call = parse_call(await request.json())
        witness.called(Call(call.lead, call.step_id, call.step, moment=call.step))
        step = "model run after tools" if call.rounds else f"model {call.kind}"
        await traps.reached(step, call.lead)
        await asyncio.sleep(random.uniform(*SECONDS))
        return JSONResponse(answer(call))

    routes = [Route("/{anything:path}", complete, methods=["POST"])]
    async with serving(Starlette(routes=routes)) as url:
        yield url


def parse_call(body: dict[str, Any]) -> ModelCall:
    """The facts name the execution and the task; a task's description ends in its id."""
    facts = body["facts"]
    return ModelCall(
        step_id=body["step_id"],
        kind=body["kind"],
        lead=facts["data"]["lead"],
        robot=facts["role"],
        task=str(facts.get("task", "")).rpartition(" ")[2],
        rounds=body["rounds"],
        check=str(facts.get("check", "")),
        tools={tool["tool"]: tool["name"] for tool in facts["tools"]},
    )
