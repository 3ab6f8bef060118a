"""A daemon whose run's end is not reported (SC-05)."""

import asyncio
from datetime import datetime, timedelta

from rota_common.testing.crash import crash
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import SetClock
from rota_contracts.messages.execution import ExecStatus
from tests.integration.scheduler.clock_harness import (
    DAEMON,
    QUICK,
    START,
    Stores,
    a_clocked,
    armed,
    held,
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


async def test_a_daemon_without_a_reported_end_is_checked_at_its_timeout(
    harness: Harness, stores: Stores
) -> None:  # SC-05 SC-06
    clock = SetClock(START)
    first = await harness.start(clock=clock, **QUICK)
    await harness.keep(a_clocked(DAEMON))
    await harness.slots(1)
    await armed(harness, None)
    clock.at = minutes(10)[0]
    await looked_at(harness, clock, minutes(11)[0])
    assert await instants(harness) == [START, minutes(11)[0]]  # which is bob's: the daemon still runs
    rearming = held(stores.clocks[0], "find")
    await harness.finished(tid(START))
    await rearming.wait()
    await crash(first.service)
    async with harness.scheduler(clock=clock, **QUICK):
        await once(harness, lambda state: state.last_status is ExecStatus.COMPLETED)
        clock.at = minutes(21)[0]
        await armed(harness, minutes(21)[0] + SECOND)
        clock.forward(1)
        await harness.slots(3)
