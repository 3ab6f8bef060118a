"""Executors that end in the middle of their work, and others that go on with it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from executor.adapters.mongo_runs import MongoRuns
from rota_common.clock import now
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_common.testing.bus import Listener, short_ack_wait, stored
from rota_common.testing.crash import crash
from rota_common.testing.openai_server import Answer, ModelRequest, OpenAIServer, openai_server
from rota_common.testing.samples import MEMBER, TEAM
from rota_contracts import catalog
from rota_contracts.catalog import Channel
from rota_contracts.messages.execution import ExecStatus
from tests.integration.executor.harness import Harness, kind, kinds, scripted
from tests.integration.executor.test_models import ANSWERS

# litellm makes the coroutine of a call in a thread: cancelled at that moment, it is never awaited.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine 'OpenAIChatCompletion.acompletion' was never:RuntimeWarning")

STARTED = catalog.EXECUTION_STARTED.subject(TEAM, MEMBER)
QUICK = {"lease": 0.5, "answer_patience": 0.5}


class Blocking:
    """Answers as usual, but holds one kind of request, the first time, until it is let go."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, asked: ModelRequest) -> Answer:
        if kind(asked) == self.what and not self.reached.is_set():
            self.reached.set()
            await self.go.wait()
        return ANSWERS[kind(asked)]


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(lambda asked: ANSWERS[kind(asked)]) as server:
        yield server


@pytest.fixture
async def settings(tmp_path: Path, model: OpenAIServer, nats: EmbeddedServer) -> dict[str, Any]:
    """With an ack wait of a second: what a dead executor had in hand comes again soon."""
    await short_ack_wait(nats.url, "executor")
    return scripted(tmp_path / "connectors", model.url) | QUICK


def stuck(service: Service, channel: Channel[Any]) -> asyncio.Event:
    """From now on nothing of this channel leaves the service; the event is set when something was to."""
    reached, never, jetstream = asyncio.Event(), asyncio.Event(), service.bus.jetstream
    publish = jetstream.publish

    async def held(subject: str, *args: Any, **given: Any) -> Any:
        if subject.startswith(channel.type):
            reached.set()
            await never.wait()
        return await publish(subject, *args, **given)

    jetstream.publish = held
    return reached


async def each_fact_once(system: Harness) -> None:
    """As an outside party counts: whatever was sent again was recognised."""
    for channel in (catalog.EXECUTION_STARTED, catalog.DELIVERY_REQUESTED, catalog.EXECUTION_FINISHED):
        assert len({event.id for event in await stored(system.nats_url, channel)}) == 1
    assert len(await stored(system.nats_url, catalog.EXECUTION_FINISHED)) == 1


# F1
@pytest.mark.parametrize("what", list(ANSWERS))
async def test_after_a_crash_in_a_model_call_only_that_call_is_made_again(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], what: str
) -> None:
    script = Blocking(what)
    model.script = script
    first = await system.start(**settings)
    await system.request()
    await script.reached.wait()
    await crash(first.service)
    script.go.set()
    async with system.executor(**settings):
        done = await system.over()
    assert (done.status, done.error) == (ExecStatus.COMPLETED, None)
    assert kinds(model) == dict.fromkeys(ANSWERS, 1) | {what: 2}
    await each_fact_once(system)


@pytest.mark.parametrize(
    "channel",
    [
        catalog.EXECUTION_STARTED,
        catalog.VALIDATION_REQUESTED,
        catalog.DELIVERY_REQUESTED,
        catalog.LEARNING_REQUESTED,
        catalog.EXECUTION_FINISHED,
    ],
    ids=lambda channel: channel.name,
)
async def test_what_was_saved_before_a_crash_is_published_by_the_next_worker(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], channel: Channel[Any]
) -> None:
    first = await system.start(**settings)
    reached, started = stuck(first.service, channel), await Listener.to(system.nats_url, STARTED)
    beside = channel is catalog.EXECUTION_STARTED  # the work goes on meanwhile, until the validator doesn't answer
    system.silent = {"validator"} if beside else set()
    await system.request()
    await reached.wait()
    if beside:
        await system.ignored.get()
    await crash(first.service)
    async with system.executor(**settings):
        await started.received()
        system.silent.clear()
        done = await system.over()
    await started.close()
    assert (done.status, done.error) == (ExecStatus.COMPLETED, None)
    assert kinds(model) == dict.fromkeys(ANSWERS, 1)
    await each_fact_once(system)


async def test_an_answer_without_a_replica_waits_for_the_next(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:
    system.silent = {"validator", "delivery-center", "learner"}
    first = await system.start(**settings | {"answer_patience": 60})
    await system.request()
    await system.ignored.get()
    await crash(first.service)
    system.silent.clear()
    async with system.executor(**settings | {"answer_patience": 60}):
        (asked,) = await stored(system.nats_url, catalog.VALIDATION_REQUESTED)
        await system._validate(asked)
        done = await system.over()
    assert done.status is ExecStatus.COMPLETED
    assert kinds(model) == dict.fromkeys(ANSWERS, 1)


async def test_a_worker_thought_dead_changes_nothing_when_it_comes_back(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Blocking("run: Score it")
    model.script = script
    renew = MongoRuns.renew

    async def of_the_living(store: MongoRuns, run_id: str, epoch: int, *, lease: timedelta) -> None:
        if epoch > 1:
            await renew(store, run_id, epoch, lease=lease)

    monkeypatch.setattr(MongoRuns, "renew", of_the_living)
    async with system.executor(**settings, sweep_interval=60.0) as zombie:
        await system.request()
        await script.reached.wait()
        async with system.executor(**settings):
            before = await system.over()
            assert before.status is ExecStatus.COMPLETED
            answered = zombie.service.bus.client.stats["out_msgs"]
            script.go.set()
            while zombie.service.bus.client.stats["out_msgs"] == answered:  # until it has tried, and said so
                await asyncio.sleep(0.01)
            assert await system.execution() == before
    assert kinds(model)["run: Score it"] == 2
    await each_fact_once(system)


async def test_a_run_whose_worker_lives_is_left_to_it_however_long_a_step_takes(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # longer than the lease, longer than the patience
    script = Blocking("run: Score it")
    model.script = script
    patient = settings | {"lease": 2.0}  # renewed in time on a busy machine too
    async with system.executor(**patient), system.executor(**patient):
        await system.request()
        await script.reached.wait()
        await asyncio.sleep(3 * patient["lease"])  # nothing happens: there is no event to wait for
        script.go.set()
        done = await system.over()
    assert done.status is ExecStatus.COMPLETED
    assert kinds(model) == dict.fromkeys(ANSWERS, 1)
    await each_fact_once(system)


def fast() -> datetime:
    return now() + timedelta(seconds=15)


def slow() -> datetime:
    return now() - timedelta(seconds=15)


async def test_a_live_worker_is_not_robbed_by_a_replica_with_another_clock(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:
    script = Blocking("run: Score it")
    model.script = script
    patient = settings | {"lease": 2.0}  # renewed in time on a busy machine too
    async with system.executor(**patient, clock=slow):
        await system.request()
        await script.reached.wait()  # by the slow replica's clock its claim has ended long ago, seen from the fast one
        async with system.executor(**patient, clock=fast):
            await asyncio.sleep(patient["lease"])  # many sweeps: nothing happens, so there is no event to wait for
            script.go.set()
            done = await system.over()
    assert done.status is ExecStatus.COMPLETED
    assert kinds(model) == dict.fromkeys(ANSWERS, 1)
    await each_fact_once(system)


async def test_a_replica_that_stops_finishes_its_current_work(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:
    script = Blocking("goals")
    model.script = script
    first = await system.start(**settings)
    await system.request()
    await script.reached.wait()
    stopping = asyncio.create_task(first.service.stop(20))
    await asyncio.sleep(0)
    script.go.set()
    await stopping
    async with system.executor(**settings):
        assert (await system.over()).status is ExecStatus.COMPLETED
    assert kinds(model) == dict.fromkeys(ANSWERS, 1)
