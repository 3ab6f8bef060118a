"""The scheduler knows all robots: from its start, as they change, and after NATS was away (SC-14, SC-15)."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import pytest

from rota_common.bus.robots import Robots
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, TEAM, SetClock, a_robot
from rota_contracts import catalog
from rota_contracts.messages.trigger import RejectReason
from rota_contracts.streams import ROBOTS_BUCKET
from tests.integration.scheduler.clock_harness import (
    HALF_HOURLY,
    QUICK,
    START,
    Stores,
    a_clocked,
    armed,
    instants,
    minutes,
    once,
    states,
)
from tests.integration.scheduler.harness import Harness


async def spoil(harness: Harness, member: str) -> None:
    """Put there what is no definition of a robot."""
    bucket = await harness.gateway.bus.jetstream.key_value(ROBOTS_BUCKET)
    await bucket.put(f"{TEAM}.{member}", b'{"team_id": "acme"}')


async def test_robots_that_are_there_at_the_start_are_known_and_their_clocks_set(harness: Harness) -> None:  # SC-15
    await harness.keep(a_clocked(HALF_HOURLY))
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await armed(harness, minutes(30)[0])


async def test_a_change_is_known_at_once_and_a_clock_follows_it(harness: Harness) -> None:  # SC-15
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY))
        await armed(harness, minutes(30)[0])
        await harness.keep(a_clocked({"mode": "interval", "every": "10m"}, rev=2))
        await armed(harness, minutes(10)[0])
        await harness.keep(a_robot(rev=3))
        assert (await once(harness, lambda state: not state.clock)).next_run is None


async def test_a_change_while_no_scheduler_ran_is_known_at_the_start(harness: Harness) -> None:  # SC-15
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY))
        await harness.keep(a_clocked(HALF_HOURLY, member_id="bob"))
        await armed(harness, minutes(30)[0])
        await armed(harness, minutes(30)[0], "bob")
    await harness.keep(a_robot(rev=2))
    await harness.keep(a_clocked({"mode": "interval", "every": "10m"}, member_id="bob", rev=2))
    async with harness.scheduler(clock=clock, **QUICK):
        await once(harness, lambda state: not state.clock)
        await armed(harness, minutes(10)[0], "bob")


async def test_an_older_revision_that_comes_late_changes_nothing(harness: Harness) -> None:
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY, rev=5))
        await armed(harness, minutes(30)[0])
        await harness.keep(a_clocked({"mode": "interval", "every": "1m"}, quota={"max": 9}, rev=4))
        await harness.keep(a_clocked(HALF_HOURLY, member_id="bob"))
        await armed(harness, minutes(30)[0], "bob")
        assert (await armed(harness, minutes(30)[0])).max_running == 2


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """A follower reads all robots, and receives no later change; set once it has read them."""
    follow, read = Robots.follow, asyncio.Event()

    async def once_only(self: Robots, *, seconds: float) -> AsyncGenerator[bytes | None]:
        async with contextlib.aclosing(follow(self, seconds=seconds)) as definitions:
            async for text in definitions:
                yield text
                if text is None:
                    read.set()
                    await asyncio.sleep(seconds)
                    return

    monkeypatch.setattr(Robots, "follow", once_only)
    return read


@pytest.mark.usefixtures("deaf")
async def test_a_change_that_was_missed_is_known_after_the_refresh(harness: Harness) -> None:  # SC-15
    clock = SetClock(START)
    await harness.keep(a_clocked(HALF_HOURLY))
    async with harness.scheduler(clock=clock, refresh=0.4, **QUICK):
        await armed(harness, minutes(30)[0])
        await harness.keep(a_clocked({"mode": "interval", "every": "10m"}, rev=2))
        await armed(harness, minutes(10)[0])
        await harness.keep(a_clocked(HALF_HOURLY, deleted=True, rev=3))
        while await states(harness, MEMBER):
            await asyncio.sleep(0.02)


async def test_robots_that_were_changed_while_nats_was_away_are_known_when_it_is_back(
    harness: Harness, nats: EmbeddedServer
) -> None:  # SC-15
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY))
        await armed(harness, minutes(30)[0])
        await nats.stop()
        while harness.gateway.bus.connected:
            await asyncio.sleep(0.02)
        clock.at = minutes(30)[0]
        await nats.start()
        while not harness.gateway.bus.connected:
            await asyncio.sleep(0.02)
        await harness.keep(a_clocked({"mode": "interval", "every": "10m"}, member_id="bob"))
        await armed(harness, minutes(40)[0], "bob")
        await armed(harness, minutes(60)[0])
        while await instants(harness) != minutes(30):  # due while NATS was away: it was not forgotten
            await asyncio.sleep(0.02)


async def test_a_trigger_of_a_newer_revision_is_decided_by_that_one(
    harness: Harness, deaf: asyncio.Event
) -> None:  # SC-14
    """The gateway has answered the owner already, and the word of it may still be on its way to the scheduler."""
    async with harness.scheduler():
        await asyncio.wait_for(deaf.wait(), PATIENCE_S)
        await harness.keep(a_robot(robot_status="paused", rev=7))
        await harness.trigger("t1", robot_rev=1)
        await harness.slots(1)
        await harness.trigger("t2", "human", robot_rev=7)
        assert await harness.rejected(1) == ["t2"]
        assert not (await once(harness, lambda state: True)).active
    (fact,) = await harness.facts(catalog.TRIGGER_REJECTED)
    assert fact.reason is RejectReason.NOT_ACTIVE


async def test_a_definition_that_can_not_be_read_harms_its_own_robot_only(harness: Harness) -> None:
    clock = SetClock(START)
    await spoil(harness, "broken")
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY))
        await armed(harness, minutes(30)[0])
        assert [state.member_id for state in await states(harness, "broken", MEMBER)] == [MEMBER]
        clock.at = minutes(30)[0]
        await harness.slots(1)
        await spoil(harness, MEMBER)  # it goes on as it was known
        await harness.keep(a_clocked(HALF_HOURLY, member_id="bob"))
        await armed(harness, minutes(60)[0], "bob")
        await armed(harness, minutes(60)[0])


async def test_clocks_of_a_robot_that_can_not_be_read_hold_no_other_back(harness: Harness, stores: Stores) -> None:
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY))
        await harness.keep(a_clocked({"mode": "interval", "every": "1s"}, member_id="broken"))
        await armed(harness, minutes(30)[0])
        await once(harness, lambda state: state.next_run is not None, "broken")
    await spoil(harness, "broken")
    async with harness.scheduler(clock=clock, **QUICK):
        for _ in range(5):
            clock.forward(59)
            while not await passed(stores, clock):
                await asyncio.sleep(0.02)
        clock.at = minutes(30)[0]
        await harness.slots(1)
        await harness.rejected(1)
        words = (await harness.facts(catalog.TRIGGER_REJECTED))[0].message
    assert words.startswith("the robot's definition can't be read")
    assert await instants(harness) == minutes(30)


async def passed(stores: Stores, clock: SetClock) -> bool:
    """Has the broken robot's clock been looked at by now?"""
    (state,) = (await stores.clocks[-1].find([(TEAM, "broken")])).values()
    return state.next_run is not None and state.next_run > clock.at
