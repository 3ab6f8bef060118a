"""A daemon: its runs follow one another, and there are never two (SC-05)."""

import asyncio
from datetime import datetime, timedelta

from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import SetClock, a_robot
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.trigger import RejectReason
from tests.integration.scheduler.clock_harness import (
    DAEMON,
    QUICK,
    START,
    a_clocked,
    armed,
    instants,
    minutes,
    once,
    tid,
)
from tests.integration.scheduler.harness import Harness

SECOND = timedelta(seconds=1)


async def looked_at(harness: Harness, clock: SetClock, at: datetime) -> None:
    """It is so late, and all clocks were looked at: another robot was woken by its own."""
    await harness.keep(a_clocked({"mode": "times", "times": [f"{at:%H:%M}"]}, member_id="bob"))
    await armed(harness, at, "bob")
    clock.at = at
    async with asyncio.timeout(PATIENCE_S):
        while at not in await instants(harness):
            await asyncio.sleep(0.02)


async def test_the_next_run_of_a_daemon_follows_the_end_of_the_one_before(harness: Harness) -> None:  # SC-05
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(DAEMON))
        assert await harness.slots(1) == [tid(START)]  # the first begins at once
        await armed(harness, None)
        await looked_at(harness, clock, minutes(9)[0])
        assert await instants(harness) == [START, minutes(9)[0]]  # bob's alone: no second one while the first runs
        await harness.finished(tid(START))
        await armed(harness, minutes(9)[0] + SECOND)  # and no hot loop
        clock.forward(1)
        await harness.slots(3)
    assert await instants(harness) == [START, minutes(9)[0], minutes(9)[0] + SECOND]


async def test_a_daemon_that_fails_runs_ever_more_rarely_until_it_succeeds(harness: Harness) -> None:  # SC-05, DEC-18
    clock, due = SetClock(START), START
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(DAEMON))
        endings = [("failed", 2), ("failed", 4), ("cancelled", 4), ("failed", 8), ("completed", 1), ("failed", 2)]
        for number, (status, pause) in enumerate(endings, 1):
            await harness.slots(number)
            await harness.finished(tid(due), status=status)
            due = clock.at + pause * SECOND
            await armed(harness, due)
            clock.at = due


async def test_a_daemon_whose_run_is_rejected_tries_again(harness: Harness) -> None:  # SC-05 SC-10
    clock, quota = SetClock(START), {"max": 1, "queue": 1}
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_robot(config={"quota": quota}))
        for name in ("t1", "t2"):
            await harness.trigger(name, "human")
            await harness.slots(1)
        await harness.admitted(2)
        await harness.keep(a_clocked(DAEMON, quota=quota, rev=2))
        assert await harness.rejected(1) == [tid(START)]
        await armed(harness, START + 2 * SECOND)
        for number, name in enumerate(("t1", "t2"), 1):
            await harness.slots(number)
            await harness.finished(name)
        await once(harness, lambda state: state.running + state.queued == 0)
        clock.forward(2)
        await harness.slots(3)
    (fact,) = await harness.facts(catalog.TRIGGER_REJECTED)
    assert fact.reason is RejectReason.QUEUE_FULL
    assert (await instants(harness))[-1] == START + 2 * SECOND


async def test_a_daemon_that_is_paused_ends_its_run_and_begins_none(harness: Harness) -> None:  # SC-05 TG-18
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(DAEMON))
        await harness.slots(1)
        await harness.keep(a_clocked(DAEMON, robot_status="paused", rev=2))
        await once(harness, lambda state: not state.active)
        await harness.finished(tid(START))
        await once(harness, lambda state: state.last_status is ExecStatus.COMPLETED)
        await looked_at(harness, clock, minutes(60)[0])
        assert (await once(harness, lambda state: True)).next_run is None
        await harness.keep(a_clocked(DAEMON, rev=3))
        await harness.slots(3)
    assert await instants(harness) == [START, *minutes(60, 60)]


async def test_a_daemon_that_is_resumed_while_it_runs_is_not_doubled(harness: Harness) -> None:  # SC-05
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(DAEMON))
        await harness.slots(1)
        await harness.keep(a_clocked(DAEMON, robot_status="paused", rev=2))
        await once(harness, lambda state: not state.active)
        await harness.keep(a_clocked(DAEMON, rev=3))
        await once(harness, lambda state: state.active)
        await looked_at(harness, clock, minutes(60)[0])
        assert await instants(harness) == [START, *minutes(60)]  # which is bob's
        await harness.finished(tid(START))
        await armed(harness, minutes(60)[0] + SECOND)
