"""Calling processes: programs that answer on NATS, well or badly, or not at all."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import nats.micro
import pytest
from nats.micro.request import Request

from executor.adapters.nats_processes import NatsProcesses
from executor.tool_ports import NotBegun, ToolFailed
from rota_common.bus.barrier import barrier
from rota_common.bus.connection import Bus
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import process_subject
from rota_contracts.messages.process import ProcessCall

EXAMPLE = Path(__file__).parents[3] / "examples" / "process.py"
CALL = ProcessCall(
    step_id="step-1", team_id="acme", member_id="ann", execution_id="e1", task_id="t1", args=[{"lead": "Globex"}, 2]
)


@pytest.fixture
async def bus(nats: EmbeddedServer) -> AsyncIterator[Bus]:
    made = Bus(nats.url, name="test")
    await made.connect()
    yield made
    await made.stop()


@asynccontextmanager
async def process(
    url: str, handler: Callable[[Request], Awaitable[None]], name: str = "crm.score"
) -> AsyncIterator[None]:
    """A micro service of the team acme that answers this process."""
    client = await nats.connect(url)
    service = await nats.micro.add_service(client, name="crm", version="1.0.0")
    await service.add_endpoint(name="score", subject=process_subject("acme", name), handler=handler)
    await barrier(client)
    yield
    await client.close()


async def test_a_process_gets_the_call_and_its_step_id_and_answers(nats: EmbeddedServer, bus: Bus) -> None:
    seen: list[Request] = []

    async def score(request: Request) -> None:
        seen.append(request)
        await request.respond('{"score": 87, "by": "Zoë"}'.encode())

    async with process(nats.url, score):
        assert await NatsProcesses(bus).call("crm.score", CALL, timeout=PATIENCE_S) == '{"score": 87, "by": "Zoë"}'
    (request,) = seen
    assert (request.headers or {})["rota-idempotency-key"] == "step-1"
    assert ProcessCall.model_validate_json(request.data) == CALL
    assert json.loads(request.data)["args"] == [{"lead": "Globex"}, 2]


async def test_the_example_is_a_process(nats: EmbeddedServer, bus: Bus) -> None:
    example = await asyncio.create_subprocess_exec(sys.executable, str(EXAMPLE), nats.url, "acme")
    call = CALL.model_copy(update={"args": [{"name": "Ann"}]})
    try:
        async with asyncio.timeout(PATIENCE_S):
            assert json.loads(await answered(bus, "crm.greet", call)) == {"greeting": "Hello, Ann!"}
    finally:
        example.kill()
        await example.wait()


async def answered(bus: Bus, name: str, call: ProcessCall) -> str:
    """What the process answers, once it is there."""
    while True:
        try:
            return await NatsProcesses(bus).call(name, call, timeout=PATIENCE_S)
        except NotBegun:
            await asyncio.sleep(0.02)


async def test_a_process_may_promise_its_result_for_later(nats: EmbeddedServer, bus: Bus) -> None:  # TG-01
    async def promise(request: Request) -> None:
        await request.respond(b"accepted", headers={"rota-status": "pending"})

    async with process(nats.url, promise):
        assert await NatsProcesses(bus).call("crm.score", CALL, timeout=PATIENCE_S) is None


async def test_its_error_is_the_reason(nats: EmbeddedServer, bus: Bus) -> None:
    async def refuse(request: Request) -> None:
        await request.respond_error("404", "no such lead")

    async with process(nats.url, refuse):
        with pytest.raises(ToolFailed, match=r"^404 no such lead$"):
            await NatsProcesses(bus).call("crm.score", CALL, timeout=PATIENCE_S)


async def test_without_an_answer_in_time_the_outcome_is_unknown(nats: EmbeddedServer, bus: Bus) -> None:
    forever = asyncio.Event()

    async def hang(request: Request) -> None:
        await forever.wait()

    async with process(nats.url, hang):
        with pytest.raises(ToolFailed, match=r"^no answer within 0\.2 s: outcome unknown$"):
            await NatsProcesses(bus).call("crm.score", CALL, timeout=0.2)
        forever.set()


async def test_a_process_of_another_name_or_team_is_not_asked(nats: EmbeddedServer, bus: Bus) -> None:
    async def score(request: Request) -> None:
        await request.respond(b"87")

    async with process(nats.url, score):
        for name, call in (("crm.other", CALL), ("crm.score", CALL.model_copy(update={"team_id": "globex"}))):
            with pytest.raises(NotBegun, match=f"can't call process {name}: no responder"):
                await NatsProcesses(bus).call(name, call, timeout=PATIENCE_S)


async def test_a_call_without_a_connection_is_not_begun(nats: EmbeddedServer, bus: Bus) -> None:
    await nats.kill()
    while bus.connected:
        await asyncio.sleep(0.01)
    with pytest.raises(NotBegun, match="not connected to NATS"):
        await NatsProcesses(bus).call("crm.score", CALL, timeout=PATIENCE_S)
    await nats.start()


async def test_arguments_that_are_too_long_are_refused(nats: EmbeddedServer, bus: Bus) -> None:
    with pytest.raises(ToolFailed, match="the arguments are too long"):
        await NatsProcesses(bus).call("x", CALL.model_copy(update={"args": ["x" * 2_000_000]}), timeout=PATIENCE_S)
