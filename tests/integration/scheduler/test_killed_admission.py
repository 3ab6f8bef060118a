"""SIGKILL of a scheduler before, and after, each write of an admission: the next one goes on without a trace."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

import pytest

from rota_common import topology
from rota_common.clock import now
from rota_common.runtime.embedded_servers import nats_server
from rota_common.stores.mongo import Mongo
from rota_common.testing.bus import keep_all, short_ack_wait
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import TEAM, a_robot
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.ids import clock_trigger_id, execution_id
from rota_contracts.messages.execution import ExecutionRequestedV1
from rota_contracts.streams import consumers
from tests.integration.scheduler.harness import Harness
from tests.integration.scheduler.kill_points import Mortal

LANES = 4
"""Harnesses at once: most of the time is the wait after a kill."""

LEASE = 0.5
PATIENCE = 10.0
"""Seconds until all goes on after a kill, on a slow machine too."""

TAKEN_OVER = 3.0
"""Seconds until recovery, in most cases."""

SETTINGS = {"lease": LEASE, "pool": 2, "tick_every": 0.1, "slot_patience": 3600}
"""Recovery takes the lease, the ack wait of 1 s, and half a second until a lease that a dead transaction locks is
noticed. Later remedies come too late to be mistaken for it: slots are reconciled after an hour, a request is published
again after a minute, and MongoDB ends a dead transaction then."""

HOURLY = {"mode": "interval", "every": "1h"}
SURVIVORS = 3
"""Once so many runs had fewer writes than the one to be killed at, there are no more writes."""

STEPS = {
    "insert queue",  # due by the clock
    "update clocks",  # and moved on
    "update leases in the transaction",  # the fence
    "insert queue in the transaction",
    "update queue in the transaction",
    "commitTransaction",
    "publish execution.requested",
    "publish trigger.admitted",
    "publish trigger.rejected",
    "update queue",  # a clock's trigger is marked as published
    "update plans",  # the robot's next cycle has begun
    "ack scheduler-trigger-received",
    "ack scheduler-execution-started",
    "ack scheduler-execution-finished",
}
"""The n-th write differs from run to run: each of these must be killed at, at least once."""


class Lane(Harness):
    """A bus and a database of its own, two schedulers, one of them killed, and an executor that ends runs at once."""

    def __init__(self, nats_url: str, mongo_url: str, prefix: str, folder: Path, *, after: bool) -> None:
        super().__init__(nats_url, mongo_url, prefix)
        self._mongo = Mongo(mongo_url, f"{prefix}_scheduler")
        self._folder, self._after = folder, after
        database = self._mongo.database
        self._queue, self._clocks = database["queue"], database["clocks"]
        self._leases = database["leases"]
        self.runs, self.refused = list[str](), list[str]()
        self.recovered = list[float]()
        self.deaths = list[str]()
        self._dead = set[str]()

    @asynccontextmanager
    async def living(self) -> AsyncIterator["Lane"]:
        self._first = self._another()
        try:
            await self._first.ready()
            yield self
        finally:
            self._first.end()
            await self._mongo.close()

    def _another(self) -> Mortal:
        return Mortal(self._urls | SETTINGS, self._folder, after=self._after)

    async def _on_requested(self, event: Event[ExecutionRequestedV1]) -> None:
        """A repeated request is reported again under the same ids."""
        trigger = event.data.trigger
        await self.started(trigger.trigger_id, member=trigger.member_id)
        await self.finished(trigger.trigger_id, member=trigger.member_id)

    async def kill_at(self, writes: int, *, only: str = "") -> bool:
        """Kill the dispatcher at this write of some work; False if the work has fewer."""
        while (died := await self._try(writes, only)) is None:
            pass
        return died

    async def _try(self, writes: int, only: str) -> bool | None:
        """None, without a result, if the other scheduler took the lease and did the work."""
        dispatcher = await self._owner()
        second = self._another()
        await second.ready()
        name = f"{len(self.runs)}"
        clocks = await self._robots(name)
        self._first.fuse.light(writes, only=only)
        runs, refused = await self._work(name, clocks)
        self.runs += runs
        self.refused += refused
        recovered = await self._until_over(runs, refused)
        if not self._first.fuse.put_out():
            second.end()
            if (owner := await self._owner()) == dispatcher:
                return False
            self._dead.add(owner)
            return None
        async with asyncio.timeout(PATIENCE_S):
            await self._first.dead()
        self.recovered.append(recovered)
        self.deaths.append(self._first.died_of())
        self._dead.add(dispatcher)
        self._first.end()
        self._first = second
        return True

    async def _owner(self) -> str:
        """The dispatcher, once it is a living one."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = await self._leases.find_one({"until": {"$gt": now()}, "owner": {"$nin": [None, *self._dead]}})
                if found is not None:
                    return str(found["owner"])
                await asyncio.sleep(0.02)

    async def _robots(self, name: str) -> list[str]:
        """Store three robots, two of them with a clock."""
        quota = {"quota": {"max": 1}}
        await self.keep(a_robot(member_id=f"events-{name}", config=quota))
        await self.keep(a_robot(member_id=f"clock-{name}", config=quota | {"clock": HOURLY}))
        await self.keep(a_robot(member_id=f"paused-{name}", config={"clock": HOURLY}, robot_status="paused"))
        clocks = [f"{TEAM}/clock-{name}", f"{TEAM}/paused-{name}"]
        while await self._clocks.count_documents({"_id": {"$in": clocks}}) < 2:
            await asyncio.sleep(0.02)
        return clocks

    async def _work(self, name: str, clocks: list[str]) -> tuple[list[str], list[str]]:
        """The triggers of three runs, one of which waits for another's slot; and of two that are rejected, since their
        robot was just paused."""
        instant = now().replace(microsecond=0)
        due = {"next_run": instant, "check_at": instant}
        await self._clocks.update_many({"_id": {"$in": clocks}}, {"$set": due})
        runs, refused = [f"{name}-one", f"{name}-two"], [f"{name}-paused"]
        for each in runs:
            await self.trigger(each, member_id=f"events-{name}")
        for each in refused:
            await self.trigger(each, "human", member_id=f"paused-{name}")
        runs.append(clock_trigger_id(TEAM, f"clock-{name}", instant))
        refused.append(clock_trigger_id(TEAM, f"paused-{name}", instant))
        return runs, refused

    async def _until_over(self, runs: list[str], refused: list[str]) -> float:
        """Seconds from the kill until all is over. A kill at the last write leaves no work."""
        began, died_at = monotonic(), None
        while not await self._is_over(runs, refused):
            if died_at is None and not self._first.alive:
                died_at = monotonic()
            late = monotonic() - (died_at or began)
            assert late < PATIENCE, f"{late:.1f} s after {self._first.died_of()}, this is left: {await self._left()}"
            await asyncio.sleep(0.02)
        return monotonic() - died_at if died_at else 0

    async def _is_over(self, runs: list[str], refused: list[str]) -> bool:
        """All has run or is rejected, is published, and is acknowledged."""
        for state, triggers in (("done", runs), ("rejected", refused)):
            found = {"_id": {"$in": [execution_id(each) for each in triggers]}, "state": state}
            if await self._queue.count_documents(found) < len(triggers):
                return False
        if await self._queue.find_one({"unpublished": True}):
            return False
        if await self._clocks.find_one({"next_run": {"$lte": now()}}):
            return False
        jetstream = self.gateway.bus.jetstream
        for consumer in (each for each in consumers() if each.service == "scheduler"):
            info = await jetstream.consumer_info(consumer.stream, consumer.durable)
            if info.num_pending or info.num_ack_pending:
                return False
        return True

    async def _left(self) -> list[Any]:
        fields = {"trigger": 0, "traceparent": 0}
        return [each async for each in self._queue.find({"state": {"$nin": ["done", "rejected"]}}, fields)]

    async def nothing_is_lost_or_doubled(self) -> None:
        requested = Counter(fact.trigger.trigger_id for fact in await self.facts(catalog.EXECUTION_REQUESTED))
        admitted = Counter(fact.trigger_id for fact in await self.facts(catalog.TRIGGER_ADMITTED))
        finished = Counter(fact.trigger_id for fact in await self.facts(catalog.EXECUTION_FINISHED))
        assert requested == admitted == finished == Counter(self.runs)
        assert Counter(fact.trigger_id for fact in await self.facts(catalog.TRIGGER_REJECTED)) == Counter(self.refused)
        assert await self.facts(catalog.TRIGGER_MISSED) == []
        assert await self._queue.count_documents({}) == len(self.runs) + len(self.refused)


async def a_lane(folder: Path, ends: AsyncExitStack, mongo_url: str, prefix: str, *, after: bool) -> Lane:
    server = nats_server(folder / "nats")
    await server.start()
    ends.push_async_callback(server.kill)
    await topology.apply_to(server.url)
    await keep_all(server.url)
    await short_ack_wait(server.url, "scheduler")
    made = Lane(server.url, mongo_url, prefix, folder, after=after)
    await ends.enter_async_context(made.open())
    return await ends.enter_async_context(made.living())


async def kill_at_each_write(lanes: list[Lane]) -> None:
    numbers, survivors = count(1), list[int]()

    async def one_lane(lane: Lane) -> None:
        while len(survivors) < SURVIVORS:
            number = next(numbers)
            if not await lane.kill_at(number):
                survivors.append(number)

    await asyncio.gather(*map(one_lane, lanes))


async def kill_at_each_step(lanes: list[Lane]) -> None:
    """The steps that no kill has hit yet."""
    steps = sorted(STEPS - {death for lane in lanes for death in lane.deaths})

    async def one_lane(lane: Lane) -> None:
        while steps:
            step = steps.pop()
            assert await lane.kill_at(1, only=step), f"there was no {step}"

    await asyncio.gather(*map(one_lane, lanes))


@pytest.mark.once
@pytest.mark.parametrize("step", ["update clocks", "commitTransaction"])
async def test_a_kill_before_the_commit_and_between_queue_and_clock_loses_and_doubles_nothing(
    tmp_path: Path, mongo_url: str, mongo_prefix: str, step: str
) -> None:  # SC-07 SC-11 SC-12
    async with asyncio.timeout(60), AsyncExitStack() as ends:
        lane = await a_lane(tmp_path / "lane", ends, mongo_url, mongo_prefix, after=False)
        assert await lane.kill_at(1, only=step)
        await lane.nothing_is_lost_or_doubled()
        assert lane.deaths == [step]


@pytest.mark.once
@pytest.mark.soak
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_kill_at_any_write_of_an_admission_loses_and_doubles_nothing(
    tmp_path: Path, mongo_url: str, mongo_prefix: str, after: bool
) -> None:  # SC-07 SC-09 SC-10 SC-11 SC-12
    async with asyncio.timeout(240), AsyncExitStack() as ends:
        lanes = [
            await a_lane(tmp_path / f"lane{number}", ends, mongo_url, f"{mongo_prefix}{number}", after=after)
            for number in range(LANES)
        ]
        await kill_at_each_write(lanes)
        await kill_at_each_step(lanes)
        for lane in lanes:
            await lane.nothing_is_lost_or_doubled()
    deaths = [death for lane in lanes for death in lane.deaths]
    assert set(deaths) >= STEPS
    assert median(seconds for lane in lanes for seconds in lane.recovered) < TAKEN_OVER
