"""Any replica finds what is due: whichever is killed and when, each run is made once (SC-07, F3)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from rota_common.stores.mongo import Mongo
from rota_common.testing.bus import stored
from rota_common.testing.crash import crash
from rota_common.testing.samples import SetClock
from rota_contracts import catalog
from rota_contracts.catalog import Channel
from tests.integration.scheduler.clock_harness import (
    HALF_HOURLY,
    QUICK,
    START,
    Held,
    Stores,
    a_clocked,
    armed,
    held,
    instants,
    minutes,
    published,
    requests,
    tid,
)
from tests.integration.scheduler.harness import Harness

NAMES = ["ann", "bob", "cid", "dot"]
DUE = minutes(30)[0]


async def ids(harness: Harness, channel: Channel[Any]) -> list[str]:
    """Of the facts of a channel that its stream holds."""
    return [event.id for event in await stored(harness.nats_url, channel)]


@contextlib.asynccontextmanager
async def replicas(harness: Harness, count: int, clock: SetClock, **given: Any) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(count):
            await stack.enter_async_context(harness.scheduler(clock=clock, **QUICK | given))
        yield


async def set_for_all(harness: Harness) -> None:
    for name in NAMES:
        await harness.keep(a_clocked(HALF_HOURLY, member_id=name))
    for name in NAMES:
        await armed(harness, DUE, name)


async def test_three_replicas_that_tick_at_the_same_instant_make_each_run_once(
    harness: Harness, stores: Stores, mongo: Mongo
) -> None:  # SC-07
    clock, together = SetClock(START), asyncio.Barrier(3)
    async with replicas(harness, 3, clock):
        await set_for_all(harness)
        for store in stores.clocks:
            meeting(store, together)
        clock.at = DUE
        await harness.slots(4)
        await harness.admitted(4)
        for name in NAMES:
            await armed(harness, minutes(60)[0], name)
    assert sorted(trigger.member_id for trigger in await requests(harness)) == NAMES
    assert await mongo.database["queue"].count_documents({}) == 4
    for channel in (catalog.EXECUTION_REQUESTED, catalog.TRIGGER_ADMITTED):
        assert len(await ids(harness, channel)) == 4


def meeting(store: Any, together: asyncio.Barrier) -> None:
    """The next time that it moves clocks on, it does so together with the others, who have queued the same runs."""
    write = store.write

    async def wait(changes: Any) -> int:
        if changes:
            store.write = write
            await together.wait()
        return int(await write(changes))

    store.write = wait


async def test_a_replica_that_is_killed_before_it_moves_the_clocks_on_makes_no_run_miss_or_come_twice(
    harness: Harness, stores: Stores
) -> None:  # SC-07 F3
    clock = SetClock(START)
    first = await harness.start(clock=clock, **QUICK)
    await set_for_all(harness)
    moving = held(stores.clocks[0], "write")
    clock.at = DUE
    await moving.wait()
    await harness.slots(4)  # they were queued first, and run already
    await crash(first.service)
    clock.at = DUE + timedelta(minutes=2)  # late by now
    async with replicas(harness, 2, clock):
        for name in NAMES:
            await armed(harness, minutes(60)[0], name)
    assert sorted(trigger.trigger_id for trigger in await requests(harness)) == sorted(tid(DUE, name) for name in NAMES)
    assert len(await ids(harness, catalog.TRIGGER_ADMITTED)) == 4
    assert await harness.facts(catalog.TRIGGER_MISSED) == []


async def test_the_run_that_makes_up_for_others_is_the_one_that_a_killed_replica_has_queued(
    harness: Harness, stores: Stores
) -> None:  # SC-07 F3
    clock = SetClock(START)
    async with replicas(harness, 1, clock):
        await set_for_all(harness)
    clock.at = minutes(95)[0]
    second = await harness.start(clock=clock, **QUICK)
    moving = held(stores.clocks[1], "write")
    await harness.slots(4)
    await moving.wait()
    await crash(second.service)
    clock.at = minutes(110)[0]
    async with replicas(harness, 1, clock):
        for name in NAMES:
            await armed(harness, minutes(120)[0], name)
        missed = await published(harness, catalog.TRIGGER_MISSED, 4)
    assert await instants(harness) == minutes(90, 90, 90, 90)
    assert {(fact.first, fact.last, fact.count) for fact in missed} == {(*minutes(30, 60), 2)}
    assert sorted(fact.member_id for fact in missed) == NAMES


async def test_an_unpublished_missed_run_is_published_once_by_the_next_replica(
    harness: Harness, stores: Stores
) -> None:  # SC-07 F3
    clock = SetClock(START)
    async with replicas(harness, 1, clock):
        await harness.keep(a_clocked(HALF_HOURLY, catch_up="skip"))
        await armed(harness, DUE)
    clock.at = minutes(310)[0]
    second = await harness.start(clock=clock, **QUICK | {"tick_every": 0.3})
    publishing = Held(second.service, catalog.TRIGGER_MISSED)
    await publishing.reached.wait()
    await armed(harness, minutes(330)[0])  # stored, and not published
    await crash(second.service)
    assert await harness.facts(catalog.TRIGGER_MISSED) == []
    async with replicas(harness, 3, clock):
        (fact,) = await published(harness, catalog.TRIGGER_MISSED, 1)
        while await stores.clocks[-1].unpublished(9):
            await asyncio.sleep(0.02)
    assert (fact.first, fact.last, fact.count) == (*minutes(30, 300), 10)
    assert len(await ids(harness, catalog.TRIGGER_MISSED)) == 1


async def test_a_published_fact_that_is_not_marked_is_published_again_as_the_same_fact(
    harness: Harness, stores: Stores
) -> None:  # SC-07 F3
    clock = SetClock(START)
    async with replicas(harness, 1, clock):
        await harness.keep(a_clocked(HALF_HOURLY, catch_up="skip"))
        await armed(harness, DUE)
    clock.at = minutes(310)[0]
    second = await harness.start(clock=clock, **QUICK)
    noting = held(stores.clocks[1], "mark_published")
    await noting.wait()
    await crash(second.service)
    async with replicas(harness, 1, clock):
        while await stores.clocks[-1].unpublished(9):
            await asyncio.sleep(0.02)
    assert len(await ids(harness, catalog.TRIGGER_MISSED)) == 1


async def test_an_unpublished_decision_is_published_by_the_successor(harness: Harness) -> None:  # F3
    clock = SetClock(START)
    first = await harness.start(clock=clock, **QUICK)
    await harness.keep(a_clocked(HALF_HOURLY))
    await armed(harness, DUE)
    publishing = [Held(first.service, each) for each in (catalog.EXECUTION_REQUESTED, catalog.TRIGGER_ADMITTED)]
    clock.at = DUE
    for each in publishing:
        await each.reached.wait()
    await crash(first.service)
    async with replicas(harness, 1, clock):
        await harness.slots(1)
        await harness.admitted(1)
    assert await instants(harness) == [DUE]


async def test_a_replica_that_does_not_dispatch_finds_what_the_dispatcher_does_not(
    harness: Harness, stores: Stores
) -> None:  # SC-07
    clock = SetClock(START)
    async with replicas(harness, 2, clock, tick_lag=2):
        await harness.keep(a_clocked(HALF_HOURLY))
        await armed(harness, DUE)
        looking = held(stores.clocks[0], "due")
        await looking.wait()
        clock.at = DUE + timedelta(seconds=2)  # so long it is left to the dispatcher
        await harness.slots(1)


async def test_a_replica_that_is_killed_is_replaced_as_soon_as_its_lease_has_ended(harness: Harness) -> None:  # F3
    clock, as_installed = SetClock(START), {"lease": 2, "tick_every": 0.5, "tick_lag": 2.0}
    first = await harness.start(clock=clock, **as_installed)
    async with replicas(harness, 1, clock, **as_installed):
        await harness.keep(a_clocked(HALF_HOURLY))
        await armed(harness, DUE)
        clock.at = DUE
        await crash(first.service)
        await harness.slots(1, timeout=30)
    assert await instants(harness) == [DUE]


@pytest.mark.parametrize("policy", ["skip", "once", "all"])
async def test_an_outage_is_made_up_for_once_however_many_come_back(harness: Harness, policy: str) -> None:  # SC-07
    clock = SetClock(START)
    async with replicas(harness, 1, clock):
        await harness.keep(a_clocked(HALF_HOURLY, catch_up=policy, quota={"max": 9, "queue": 9}))
        await armed(harness, DUE)
    clock.at = minutes(130)[0]
    async with replicas(harness, 3, clock):
        await armed(harness, minutes(150)[0])
        runs = {"skip": [], "once": minutes(120), "all": minutes(30, 60, 90, 120)}[policy]
        await harness.slots(len(runs))
        missed = await published(harness, catalog.TRIGGER_MISSED, 0 if policy == "all" else 1)
    assert sorted(trigger.scheduled_at for trigger in await requests(harness) if trigger.scheduled_at) == runs
    assert sum(fact.count for fact in missed) == 4 - len(runs)
    assert len(await ids(harness, catalog.TRIGGER_MISSED)) == len(missed) <= 1
