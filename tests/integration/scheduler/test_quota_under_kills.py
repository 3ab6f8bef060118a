"""Many attempts on several schedulers whose lease moves: no quota is exceeded by one, and nothing is lost."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import nats as nats_client
import pytest
import structlog
from nats.aio.msg import Msg

from rota_common.bus.barrier import barrier
from rota_common.clock import now
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.stores.mongo import Mongo
from rota_common.testing.bus import short_ack_wait
from rota_common.testing.samples import TEAM, a_robot, a_trigger
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1, ExecutionRequestedV1, ExecutionStartedV1
from rota_contracts.messages.trigger import TriggerRejectedV1
from scheduler.domain.queue import EntryState
from tests.integration.scheduler.harness import Harness
from tests.integration.scheduler.lease_moves import Replicas
from tests.integration.scheduler.queue_history import History

POOL = 25
AT_ONCE, CALM = 200, 30
"""Attempts under way at once, and in calm times, when most slots are free; each lasts for half a wave."""

ATTEMPTS, WAVE, REPLICAS = 10_000, 1000, 8

MOVES = 5
"""How often the lease's holder is killed, and loses its lease while it sleeps, at least."""

EACH = 1000
"""Attempts that must be finished, and rejected, at least."""

STEP_S = 120
"""Until the next attempt has ended, or been rejected, at most. The whole takes two minutes alone, and many beside other
work."""

NEVER_S = 36_000
"""Longer than any proof."""

LEASE = 0.6
RUN_S = 0.3
"""The longest execution. Slots are what is short, not the machine: on a busy one, too, attempts arrive faster than
executions end, so that queues overflow."""

QUOTAS = {f"m{number}": {"max": 1 + number % 4, "queue": 1 + number % 3} for number in range(24)}
"""60 slots by quota, 25 in the pool, and queues too short for all that people and clocks ask for at once, so that some
are rejected; events wait."""


class Busy(Harness):
    """Triggers robots at random, runs what is requested, and records each robot that runs too many at once."""

    def __init__(self, nats_url: str, mongo_url: str, prefix: str, random: Random) -> None:
        super().__init__(nats_url, mongo_url, prefix)
        self._random = random
        self._room = asyncio.Semaphore(AT_ONCE)
        self.made = 0
        self.running = Counter[str]()
        self.begun, self.ended = set[str](), set[str]()
        self.rejected_ids = set[str]()
        self.excesses = list[str]()
        self._work = set[asyncio.Task[None]]()
        self.moved: Callable[[], None] = lambda: None

    async def attempts(self, more: Callable[[], bool]) -> None:
        """Waves of attempts, until there are enough and no `more` are wanted. Returns when each has ended."""
        client = await nats_client.connect(self.nats_url)
        await client.subscribe(catalog.TRIGGER_REJECTED.pattern, cb=self._on_rejected)
        await barrier(client)
        while self.made < ATTEMPTS or more():
            for number in range(WAVE):
                if number == WAVE // 2:
                    await self._take(AT_ONCE - CALM)
                await self._take(1)
                await self._attempt(f"t{self.made}")
                self.made += 1
            self._give(AT_ONCE - CALM)
        await self._take(AT_ONCE)
        await client.close()

    def decided(self) -> int:
        """How many attempts the schedulers have let run or rejected."""
        return len(self.begun) + len(self.rejected_ids)

    async def _take(self, room: int) -> None:
        for _ in range(room):
            await self._room.acquire()

    def _give(self, room: int) -> None:
        self.moved()
        for _ in range(room):
            self._room.release()

    async def _attempt(self, name: str) -> None:
        member = self._random.choice(list(QUOTAS))
        kind = self._random.choice(["event", "human", "human", "clock", "clock"])
        trigger = a_trigger(name, kind, at=now(), member_id=member)
        await self.gateway.publish(catalog.TRIGGER_RECEIVED, trigger, caused_by=name)

    async def _on_rejected(self, message: Msg) -> None:
        fact = TriggerRejectedV1.model_validate_json(message.data)
        if fact.trigger_id not in self.rejected_ids:
            self.rejected_ids.add(fact.trigger_id)
            self._give(1)

    async def _on_requested(self, event: Event[ExecutionRequestedV1]) -> None:
        run = event.data
        if run.execution_id in self.begun:
            return
        self.begun.add(run.execution_id)
        self.running[run.member_id] += 1
        if self.running[run.member_id] > QUOTAS[run.member_id]["max"]:
            self.excesses.append(f"{run.member_id} runs {self.running[run.member_id]}")
        if self.running.total() > POOL:
            self.excesses.append(f"the pool runs {self.running.total()}")
        task = asyncio.create_task(self._run(run))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _run(self, run: ExecutionRequestedV1) -> None:
        base: dict[str, Any] = {"execution_id": run.execution_id, "team_id": TEAM, "member_id": run.member_id}
        started = ExecutionStartedV1(**base, started_at=now())
        await self.executor.publish(catalog.EXECUTION_STARTED, started, caused_by=run.execution_id)
        await asyncio.sleep(self._random.uniform(0, RUN_S))
        end: dict[str, Any] = {"trigger_id": run.trigger.trigger_id, "status": ExecStatus.COMPLETED}
        finished = ExecutionFinishedV1(**base, **end, finished_at=now())
        self.running[run.member_id] -= 1  # before it is published: its slot can't be given away yet
        await self.executor.publish(catalog.EXECUTION_FINISHED, finished, caused_by=run.execution_id)
        self.ended.add(run.execution_id)
        self._give(1)


@pytest.fixture
def quiet() -> Iterator[None]:
    """100,000 lines of log take as long as the work itself; coloured tracebacks of a crash, longer."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture
async def busy(quiet: None, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Busy]:
    """With an ack wait of a second: a killed dispatcher's messages are redelivered soon."""
    await short_ack_wait(nats.url, "scheduler")
    harness = Busy(nats.url, mongo_url, mongo_prefix, Random(8))
    async with harness.open():
        for member, quota in QUOTAS.items():
            await harness.keep(a_robot(member_id=member, config={"quota": quota}))
        yield harness


@asynccontextmanager
async def scheduler_store(url: str, prefix: str) -> AsyncIterator[Mongo]:
    mongo = Mongo(url, f"{prefix}_scheduler")
    try:
        yield mongo
    finally:
        await mongo.close()


@pytest.mark.once
@pytest.mark.soak
async def test_schedulers_whose_lease_moves_never_exceed_a_quota_by_one(
    busy: Busy, mongo_url: str, mongo_prefix: str
) -> None:  # SC-09 SC-10 SC-12
    history = History(mongo_url, f"{mongo_prefix}_scheduler")
    async with scheduler_store(mongo_url, mongo_prefix) as mongo, asyncio.timeout(STEP_S) as limit:

        def moved() -> None:
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time() + STEP_S)

        busy.moved = moved
        # Requests not begun for long are published again (test_takeover); on a busy machine these too.
        patient = {"lease": LEASE, "pool": POOL, "republish_after": NEVER_S}
        replicas = Replicas(busy, mongo, Random(9), count=REPLICAS, **patient)
        async with replicas.running():
            async with replicas.moving(1.5, busy.decided):
                await busy.attempts(lambda: min(replicas.crashes, replicas.robberies) < MOVES)
            while await mongo.database["queue"].find_one({"live": True}):  # until the last report is written
                await asyncio.sleep(0.02)

    assert busy.excesses == []
    await asyncio.to_thread(no_state_of_the_store_exceeds, history)
    await each_attempt_ended_once(busy, history)
    assert min(replicas.crashes, replicas.robberies) >= MOVES


def no_state_of_the_store_exceeds(history: History) -> None:
    most = Counter[str]()
    for held in history.holding():
        for (_, member), count in held.items():
            most[member] = max(most[member], count)
        most["pool"] = max(most["pool"], sum(held.values()))
    allowed = {"pool": POOL} | {member: quota["max"] for member, quota in QUOTAS.items()}
    assert not {name: count for name, count in most.items() if count > allowed[name]}
    assert most == allowed  # each quota was reached, too


async def each_attempt_ended_once(busy: Busy, history: History) -> None:
    """Run and finished, or visibly rejected; in the streams and in the store."""
    requested, admitted, rejected, finished = [
        [
            fact.trigger.trigger_id if channel is catalog.EXECUTION_REQUESTED else fact.trigger_id
            for fact in await busy.facts(channel)
        ]
        for channel in (
            catalog.EXECUTION_REQUESTED,
            catalog.TRIGGER_ADMITTED,
            catalog.TRIGGER_REJECTED,
            catalog.EXECUTION_FINISHED,
        )
    ]
    names = [f"t{number}" for number in range(busy.made)]
    ends = Counter([f"{name} finished" for name in finished] + [f"{name} rejected" for name in rejected])
    assert sorted(finished + rejected) == sorted(names), [
        (name, ends[f"{name} finished"], ends[f"{name} rejected"])
        for name in names
        if ends[f"{name} finished"] + ends[f"{name} rejected"] != 1
    ]
    assert sorted(requested) == sorted(admitted) == sorted(finished)
    assert busy.rejected_ids == set(rejected)
    assert busy.ended == {execution_id(name) for name in finished}
    states = {execution_id(name): EntryState.DONE for name in finished}
    assert history.states == states | {execution_id(name): EntryState.REJECTED for name in rejected}
    assert min(len(finished), len(rejected)) > EACH  # both were tried
