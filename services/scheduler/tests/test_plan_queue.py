"""The plan queue of the whole scheduler."""

import asyncio
from datetime import timedelta

from rota_common.clock import now
from rota_common.testing.chaos import twice
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import TriggerState
from rota_contracts.messages.plan import PlanState
from scheduler.domain.plan import plan_key
from tests.integration.scheduler.harness import Harness

OPEN = {"quota": {"max": 100, "queue": 100}}


def trigger_of(plan_id: str) -> str:
    return plan_key("acme", "ann", plan_id)


async def test_a_planned_item_runs_at_its_time_and_is_published(harness: Harness) -> None:  # SC-16 TG-09
    async with harness.scheduler(middlewares=[twice]):
        later = await harness.plan("p2", plan_time=now() + timedelta(days=1))
        soon = await harness.plan("p1", plan_time=now() + timedelta(seconds=1))
        assert [item.plan_id for item in await harness.plans()] == ["p1", "p2"]
        assert await harness.slots(1) == [trigger_of("p1")]
        while len(await harness.plans()) > 1:
            await asyncio.sleep(0.05)
        again = await harness.plan("p1", "plan.remove")
        assert (await harness.plan("p2", "plan.remove")).refused == ""
        assert await harness.plans() == []
    assert later.item is not None
    assert soon.item is not None
    assert again.refused == f"p1 has started: it is execution {execution_id(trigger_of('p1'))}"
    facts = await harness.facts(catalog.PLAN_CHANGED)
    assert [(fact.plan_id, fact.action) for fact in facts if fact.plan_id == "p1"] == [
        ("p1", "plan.add"),
        ("p1", "plan.start"),
    ]
    assert [fact.action for fact in facts if fact.plan_id == "p2"] == ["plan.add", "plan.remove"]
    (request,) = await harness.facts(catalog.EXECUTION_REQUESTED)
    assert (request.trigger.type, request.trigger.input.action) == ("human", "plan.add")


async def test_a_clock_starts_what_has_no_time(harness: Harness) -> None:  # SC-16, DEC-14
    async with harness.scheduler():
        await harness.plan("p1")
        await harness.trigger("t1", "event")
        await harness.slots(1)
        assert (await harness.read(trigger_of("p1"))).state is TriggerState.UNKNOWN
        await harness.trigger("t2", "clock")
        await harness.until("queued", trigger_of("p1"))


async def test_a_robot_that_is_deleted_loses_its_plan(harness: Harness) -> None:  # TG-20
    async with harness.scheduler():
        for number in range(3):
            await harness.plan(f"p{number}", plan_time=now() + timedelta(days=1) if number else None)
        await harness.keep(a_robot(deleted=True, rev=2))
        await harness.delete()
        while await harness.plans():
            await asyncio.sleep(0.05)
        while len(facts := await harness.facts(catalog.PLAN_CHANGED)) < 6:
            await asyncio.sleep(0.05)
        assert (await harness.plan("p9")).refused == "there is no robot ann in team acme"
    assert {fact.reason for fact in facts if fact.action == "plan.remove"} == {"the robot was deleted"}


async def test_a_paused_robot_keeps_its_plan(harness: Harness) -> None:  # SC-16
    async with harness.scheduler():
        await harness.keep(a_robot(robot_status="paused"))
        await harness.plan("p1", plan_time=now())
        await harness.plan("p2", plan_time=now(), messages=[{"content": "Look at Initech"}])
        await harness.trigger("t1", "human")
        await harness.rejected(1)
        assert {(item.plan_id, item.state) for item in await harness.plans()} == {
            ("p1", PlanState.PLANNED),
            ("p2", PlanState.PLANNED),
        }
    assert await harness.given_slots() == []
