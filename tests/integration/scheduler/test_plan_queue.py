"""The plan queue across kills."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from rota_common.clock import now
from rota_common.testing.crash import crash
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from scheduler.domain.plan import plan_key
from tests.integration.scheduler.harness import Harness

OPEN = {"quota": {"max": 100, "queue": 100}}


def trigger_of(plan_id: str) -> str:
    return plan_key("acme", "ann", plan_id)


@pytest.mark.soak
async def test_each_item_starts_once_whatever_is_killed(harness: Harness) -> None:  # SC-16
    await harness.keep(a_robot(config=OPEN))
    names = [f"p{number}" for number in range(30)]
    apps = [await harness.start(), await harness.start(pool=100)]
    due = now() + timedelta(seconds=1)
    for number, name in enumerate(names):
        await harness.plan(name, plan_time=due + timedelta(milliseconds=100 * number))
    await harness.slots(3)
    await crash(apps[0].service)
    await harness.slots(6)
    await crash(apps[1].service)
    async with harness.scheduler(pool=100):
        await harness.slots(len(names), timeout=40)
        while len(await harness.facts(catalog.PLAN_CHANGED)) < 2 * len(names):
            await asyncio.sleep(0.1)
    assert Counter(await harness.given_slots()) == Counter(map(trigger_of, names))
    actions = Counter((fact.plan_id, fact.action) for fact in await harness.facts(catalog.PLAN_CHANGED))
    assert actions == Counter((name, action) for name in names for action in ("plan.add", "plan.start"))
    assert set(await harness.admitted(len(names))) == set(map(trigger_of, names))
