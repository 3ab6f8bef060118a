"""Processes that promise their result and send it later, through any crash (TG-01)."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import nats
import nats.micro
import pytest
from nats.micro.request import Request

from rota_common.bus.barrier import barrier
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.bus import short_ack_wait, stored
from rota_common.testing.crash import crash
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.catalog import Channel, process_subject
from rota_contracts.messages.callback import PENDING, STATUS
from rota_contracts.messages.execution import ExecStatus, Execution
from rota_contracts.messages.process import ProcessCall
from tests.integration.executor.harness import Harness
from tests.integration.executor.test_crashes import QUICK, stuck

PAID = {"paid": True, "amount": "7 €"}


class Payments:
    """A process of the team that promises its results. `first` is done before it answers."""

    def __init__(self) -> None:
        self.calls = list[ProcessCall]()
        self.called = asyncio.Event()
        self.first: Callable[[str], Awaitable[Any]] | None = None

    async def __call__(self, request: Request) -> None:
        self.calls.append(ProcessCall.model_validate_json(request.data))
        self.called.set()
        if self.first is not None:
            await self.first(self.callback)
        await request.respond(b"", headers={STATUS: PENDING})

    @property
    def callback(self) -> str:
        """The id that the last call's result is to be sent to."""
        return self.calls[-1].callback.removeprefix("/v1/callbacks/")


@pytest.fixture
async def payments(nats: EmbeddedServer, system: Harness) -> AsyncIterator[Payments]:
    """The process crm.pay, and a robot that calls it; idempotent as crm.safe."""
    made = Payments()
    async with serving(nats.url, made):
        await use(system, "crm.pay")
        yield made


async def use(system: Harness, name: str, **process: Any) -> None:
    """Let the robot's plans call this process."""
    resources = {"agents": ["experts.writer"], "processes": [{"name": name, **process}]}
    await system.keep(a_robot(config={"resources": resources}, rev=2))


@asynccontextmanager
async def serving(url: str, payments: Payments) -> AsyncIterator[None]:
    """A micro service of the team acme that answers all processes of crm."""
    client = await nats.connect(url)
    service = await nats.micro.add_service(client, name="crm", version="1.0.0")
    await service.add_endpoint(name="any", subject=process_subject("acme", "crm.*"), handler=payments)
    await barrier(client)
    yield
    await client.close()


def waits(execution: Execution) -> bool:
    return execution.status is ExecStatus.WAITING


async def each_fact_once(system: Harness) -> None:
    """It began once and went on once; whatever was sent again was recognised."""
    started = {(fact.id, fact.data.grant) for fact in await stored(system.nats_url, catalog.EXECUTION_STARTED)}
    assert sorted(grant for _, grant in started) == [0, 1]
    for channel in (catalog.DELIVERY_REQUESTED, catalog.EXECUTION_FINISHED):
        assert len({event.id for event in await stored(system.nats_url, channel)}) == 1


def outputs(execution: Execution) -> list[Any]:
    return [result.output and json.loads(result.output.inline or "") for result in execution.results]


@pytest.mark.once
async def test_a_run_waits_without_a_slot_for_a_promised_result_and_replays(
    system: Harness, payments: Payments
) -> None:
    async with system.executor(), system.executor():
        await system.request()
        waiting = await system.until(waits)
        assert waiting.progress.text == "task task-2: waits for the result of process crm.pay"
        assert (waiting.question, waiting.deadline_at) == (None, None)
        (parked,) = await system.parked()
        assert (parked.data.status, parked.data.reason) == ("waiting", "waits for the result of process crm.pay")
        answer = await system.call_back(payments.callback, PAID)
        assert (answer.team_id, answer.execution_id, answer.repeated, answer.over) == ("acme", "e1", False, None)
        again = await system.call_back(payments.callback, "another")
        assert (again.execution_id, again.repeated) == ("e1", True)
        done = await system.over()
        late = await system.call_back(payments.callback, PAID)
        unknown = await system.call_back("guessed", PAID)
        replay = await system.replay()
    assert (done.status, outputs(done)[1]) == (ExecStatus.COMPLETED, PAID)
    assert (late.repeated, late.over, unknown.execution_id) == (True, None, None)
    assert (len(payments.calls), replay.same, replay.difference) == (1, True, "")
    assert payments.callback not in done.model_dump_json()  # everybody of the team may read that
    await each_fact_once(system)


async def test_a_result_that_is_faster_than_its_promise_is_not_lost(system: Harness, payments: Payments) -> None:
    async def at_once(callback: str) -> None:
        assert (await system.call_back(callback, PAID)).execution_id == "e1"

    payments.first = at_once
    async with system.executor():
        await system.request()
        done = await system.over()
        assert (await system.replay()).same
    assert (done.status, outputs(done)[1], len(payments.calls)) == (ExecStatus.COMPLETED, PAID, 1)


async def test_an_error_is_the_calls_error(system: Harness, payments: Payments) -> None:
    async with system.executor():
        await system.request()
        await system.until(waits)
        await system.call_back(payments.callback, error="the account is closed")
        done = await system.over()
    assert (done.status, done.results[1].error) == (ExecStatus.FAILED, "the account is closed")


async def test_a_result_that_never_comes_is_given_up(system: Harness, payments: Payments) -> None:
    await use(system, "crm.pay", callback_within="1s")
    async with system.executor():
        await system.request()
        done = await system.over()
        assert (await system.replay()).same
        late = await system.call_back(payments.callback, PAID)
    assert (done.status, done.results[1].error) == (ExecStatus.FAILED, "no result came within 1s")
    assert (late.execution_id, late.over) == ("e1", "failed")


async def test_a_run_that_waits_is_paused_and_stopped_as_ever(system: Harness, payments: Payments) -> None:  # TG-16
    async with system.executor():
        await system.request()
        await system.until(waits)
        await system.control("pause")
        await system.until(lambda execution: execution.status is ExecStatus.PAUSED)
        await system.control("resume")
        await system.until(waits)
        await system.control("stop", reason="wrong customer")
        done = await system.over()
        late = await system.call_back(payments.callback, PAID)
    assert (done.status, done.error) == (ExecStatus.CANCELLED, "wrong customer")
    assert (late.execution_id, late.over) == ("e1", "cancelled")


async def crashed_in_the_call(system: Harness, payments: Payments, settings: dict[str, Any]) -> None:
    """The executor dies while the process has the call, which is idempotent."""
    crashed = asyncio.Event()

    async def hang(callback: str) -> None:
        await crashed.wait()

    payments.first = hang
    first = await system.start(**settings)
    await system.request()
    await payments.called.wait()
    await crash(first.service)
    payments.first = None
    crashed.set()


async def crashed_publishing(
    channel: Channel[Any], system: Harness, payments: Payments, settings: dict[str, Any], *, result: bool
) -> None:
    """The executor dies when it has saved a change, before it publishes it."""
    first = await system.start(**settings)
    reached = stuck(first.service, channel)
    await system.request()
    if result:
        await system.until(waits)
        await system.call_back(payments.callback, PAID)
    await reached.wait()
    await crash(first.service)


CRASHES: dict[str, Callable[..., Awaitable[None]]] = {
    "in the call": crashed_in_the_call,
    "parking": lambda *given: crashed_publishing(catalog.EXECUTION_PARKED, *given, result=False),
    "wanting a slot": lambda *given: crashed_publishing(catalog.EXECUTION_RESUMABLE, *given, result=True),
}


@pytest.mark.parametrize("where", CRASHES)
async def test_a_crash_loses_no_promised_result(
    system: Harness, nats: EmbeddedServer, payments: Payments, where: str
) -> None:  # F9
    await short_ack_wait(nats.url, "executor")
    await use(system, "crm.safe", idempotent=True)
    await CRASHES[where](system, payments, QUICK)
    async with system.executor(**QUICK):
        if where != "wanting a slot":
            await system.until(waits)
            await system.call_back(payments.callback, PAID)
        done = await system.over()
        assert (await system.replay()).same
    assert (done.status, outputs(done)[1]) == (ExecStatus.COMPLETED, PAID)
    assert len({(call.step_id, call.callback) for call in payments.calls}) == 1
    assert len(payments.calls) == (2 if where == "in the call" else 1)
    await each_fact_once(system)


async def test_an_accepted_result_survives_the_death_of_all_replicas(system: Harness, payments: Payments) -> None:  # F9
    first = await system.start(**QUICK)
    await system.request()
    await system.until(waits)
    first.service.bus.jetstream.publish = None  # type: ignore[method-assign,assignment]  # nothing leaves any more
    assert (await system.call_back(payments.callback, PAID)).execution_id == "e1"
    await crash(first.service)
    async with system.executor(**QUICK):
        done = await system.over()
    assert (done.status, outputs(done)[1], len(payments.calls)) == (ExecStatus.COMPLETED, PAID, 1)


async def test_a_result_of_a_call_whose_worker_died_is_its_outcome(
    system: Harness, nats: EmbeddedServer, payments: Payments
) -> None:  # F9
    await short_ack_wait(nats.url, "executor")
    sent, crashed = asyncio.Event(), asyncio.Event()

    async def at_once(callback: str) -> None:
        await system.call_back(callback, PAID)
        sent.set()
        await crashed.wait()

    payments.first = at_once
    first = await system.start(**QUICK)
    await system.request()
    await sent.wait()
    await crash(first.service)
    crashed.set()
    async with system.executor(**QUICK):
        done = await system.over()
    assert (done.status, outputs(done)[1], len(payments.calls)) == (ExecStatus.COMPLETED, PAID, 1)
