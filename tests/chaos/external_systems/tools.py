"""The MCP server: two tools over streamable HTTP that know a step by the id in the `_meta` of its call."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations

from rota_contracts.messages.process import STEP_ID
from tests.chaos.external_systems.http import serving
from tests.chaos.robots import CHARGE, NOTE
from tests.chaos.trap import Traps
from tests.chaos.witness import Call, Witness

SECONDS = (0.005, 0.03)
Session = Context[Any, Any, Any]


@asynccontextmanager
async def tools(witness: Witness, traps: Traps, random: Random) -> AsyncIterator[str]:
    """Yields its URL. Each call is a session of its own: a restarted executor has no session to resume."""
    server = FastMCP("ledger", stateless_http=True, json_response=True, log_level="WARNING")

    async def work(name: str, lead: str, task: str, number: int, session: Session) -> str:
        """An assistant's tools of one round run side by side; a task that is a tool call is a moment of its own."""
        idempotent, moment = name == NOTE, f"tools:{task}:{number}"
        witness.called(Call(lead, _step_id(session), f"{moment}:{name}", moment=moment, idempotent=idempotent))
        kind = "tool" if number else "mcp task"
        await traps.reached(kind if idempotent else f"{kind} not idempotent", lead)
        await asyncio.sleep(random.uniform(*SECONDS))
        return f"{name} of {lead}: done"

    @server.tool(name=NOTE, annotations=ToolAnnotations(idempotentHint=True))
    async def note(lead: str, task: str, number: int, session: Session) -> str:
        """Note that something happened; the same step twice is noted once."""
        return await work(NOTE, lead, task, number, session)

    @server.tool(name=CHARGE, annotations=ToolAnnotations(idempotentHint=False))
    async def charge(lead: str, task: str, number: int, session: Session) -> str:
        """Charge for something; twice is charged twice."""
        return await work(CHARGE, lead, task, number, session)

    async with serving(server.streamable_http_app(), lifespan="on") as url:
        yield f"{url}/mcp"


def _step_id(session: Session) -> str:
    meta = session.request_context.meta
    return str((meta.model_extra or {}).get(STEP_ID, "")) if meta is not None else ""
