"""The plan queue: what people change in it, and what becomes of what is due."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from services.scheduler.tests.harness import OWNER, Harness, finished, started

from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts.messages.plan import ChangePlan, PlanState
from rota_contracts.messages.trigger import ExecutorMode, InterventionAction, TriggerType
from scheduler.domain.plan import LIMIT, Plan, change, plan_key
from scheduler.domain.queue import EntryState
from scheduler.ports import PlansChanged

LATER = NOON + timedelta(hours=1)
KEY = plan_key(TEAM, MEMBER, "p1")


def word(action: str = "plan.add", plan_id: str = "p1", **fields: Any) -> ChangePlan:
    base: dict[str, Any] = {"action": action, "plan_id": plan_id, **OWNER}
    if action == "plan.add":
        base |= {"messages": [{"content": "Look at Globex"}], "plan_time": LATER}
    return ChangePlan.model_validate(base | fields)


def planned(**fields: Any) -> Plan:
    plan = change(None, word(**fields), NOON)
    assert isinstance(plan, Plan)
    return plan


async def until_state(harness: Harness, state: PlanState, key: str = KEY) -> Plan:
    while (plan := await harness.plans.find(key)) is None or plan.item.state is not state or plan.unpublished:
        await asyncio.sleep(0.01)
    return plan


async def at(harness: Harness, moment: datetime) -> None:
    """The clock is there, and the lease it judges holds."""
    while harness.clock.at < moment:
        await harness.queue.acquire("first")
        harness.clock.at = min(moment, harness.clock.at + timedelta(seconds=30))
    await harness.queue.acquire("first")


async def looked(harness: Harness) -> None:
    """The dispatcher has looked for what is due, and dealt with what it found."""
    for _ in range(2):
        harness.plans.checked.clear()
        await harness.plans.checked.wait()


async def test_what_is_added_twice_is_planned_once() -> None:  # SC-16
    harness = Harness()
    answers = [
        await harness.change_plan(word()),
        await harness.change_plan(word(messages=[{"content": "Something else"}])),
    ]
    assert [(each.refused, each.item and each.item.messages[0].content) for each in answers] == [
        ("", "Look at Globex")
    ] * 2
    assert harness.published.plans == [("p1", "plan.add")]


async def test_of_many_who_add_at_once_one_does() -> None:  # SC-16
    harness = Harness()
    answers = await asyncio.gather(*(harness.change_plan(word()) for _ in range(5)))
    assert {each.refused for each in answers} == {""}
    assert len(await harness.plans.listed(TEAM, None, 9)) == 1


async def test_an_update_changes_what_it_names_and_leaves_the_rest() -> None:  # SC-16
    harness = Harness()
    await harness.change_plan(word(locale="fr-FR"))
    update = word("plan.update", plan_time=LATER + timedelta(hours=1), executor_mode="dryrun")
    item = (await harness.change_plan(update)).item
    assert item is not None
    assert (item.plan_time, item.executor_mode) == (LATER + timedelta(hours=1), ExecutorMode.DRYRUN)
    assert (item.locale, item.messages[0].content) == ("fr-FR", "Look at Globex")
    await harness.change_plan(update)
    assert harness.published.plans == [("p1", "plan.add"), ("p1", "plan.update")]
    assert await harness.plans.due(LATER, 9) == []


async def test_a_planned_run_acts_in_the_least_role_of_those_who_planned_it() -> None:  # EX-65 TG-24
    async with Harness().open() as harness:
        await harness.change_plan(word(role="owner"))
        for role, locale in (("admin", "fr-FR"), ("owner", "de-DE")):
            await harness.change_plan(word("plan.update", role=role, locale=locale))
        await at(harness, LATER)
        plan = await until_state(harness, PlanState.STARTED)
        stored = (await harness.queue.stored([plan.execution_id]))[plan.execution_id]
    assert stored.trigger.role == "admin"


async def test_what_is_removed_does_not_start_and_can_be_removed_again() -> None:  # SC-16
    async with Harness().open() as harness:
        await harness.change_plan(word())
        answers = [await harness.change_plan(word("plan.remove")) for _ in range(2)]
        assert [(each.refused, each.item and each.item.state) for each in answers] == [("", "removed")] * 2
        await at(harness, LATER)
        await looked(harness)
        assert await harness.state(KEY) is None
    assert harness.published.plans == [("p1", "plan.add"), ("p1", "plan.remove")]


@pytest.mark.parametrize(
    ("first", "then", "reason"),
    [
        ([], word("plan.update"), "there is no item p1 in the plan of ann"),
        ([], word("plan.remove"), "there is no item p1 in the plan of ann"),
        ([], word(messages=[{"content": " "}]), "plan.add needs a message"),
        ([], word(messages=[{"content": "x" * LIMIT}]), f"expected an item of at most {LIMIT} bytes"),
        ([word()], word("plan.update", messages=[{"content": "x" * LIMIT}]), "expected an item of at most"),
        ([], word(member_id="missing"), "there is no robot missing in team acme"),
        ([word(), word("plan.remove")], word(), "p1 was removed"),
        ([word(), word("plan.remove")], word("plan.update"), "p1 was removed"),
    ],
)
async def test_an_impossible_change_is_refused_with_a_reason(
    first: list[ChangePlan], then: ChangePlan, reason: str
) -> None:
    harness = Harness()
    for each in first:
        assert (await harness.change_plan(each)).refused == ""
    assert (await harness.change_plan(then)).refused.startswith(reason)


async def test_a_robot_whose_list_has_no_planning_refuses_it() -> None:  # TG-04
    harness = Harness()
    harness.robots.kept[MEMBER] = a_robot(config={"triggers": {"intervene": {"actions": ["instruct"]}}})
    assert (await harness.change_plan(word())).refused == "expected one of the actions instruct, not plan.add"


async def test_a_due_item_starts_as_a_persons_trigger() -> None:  # SC-16 TG-09
    async with Harness().open() as harness:
        await harness.change_plan(word(executor_mode="dryrun", locale="fr-FR"))
        await at(harness, LATER - timedelta(seconds=1))
        await looked(harness)
        assert await harness.state(KEY) is None
        await at(harness, LATER)
        plan = await until_state(harness, PlanState.STARTED)
        stored = (await harness.queue.stored([plan.execution_id]))[plan.execution_id]
    trigger = stored.trigger
    assert (stored.state, plan.item.execution_id) == (EntryState.ADMITTED, plan.execution_id)
    assert (trigger.type, trigger.input.action) == (TriggerType.HUMAN, InterventionAction.PLAN_ADD)
    assert trigger.scheduled_at == LATER
    assert (trigger.input.messages, trigger.executor_mode, trigger.locale) == (plan.item.messages, "dryrun", "fr-FR")
    assert harness.published.requested_ids == [KEY]
    assert harness.published.plans == [("p1", "plan.add"), ("p1", "plan.start")]


async def test_what_has_started_is_not_changed_any_more() -> None:  # SC-16
    async with Harness().open() as harness:
        await harness.change_plan(word(plan_time=NOON))
        plan = await until_state(harness, PlanState.STARTED)
        answers = [await harness.change_plan(word(action)) for action in ("plan.update", "plan.remove", "plan.add")]
    assert [each.refused for each in answers] == [f"p1 has started: it is execution {plan.execution_id}"] * 2 + [""]
    assert {each.item for each in answers if each.item and each.item.state is not PlanState.STARTED} == set()


@pytest.mark.parametrize(
    "robot",
    [
        a_robot(robot_status="paused"),
        a_robot(autonomous_mode=False),
        a_robot(config={"triggers": {"intervene": {"enabled": False}}}),
        ConnectionError("the robots can't be read"),
    ],
)
async def test_a_robot_that_can_not_run_keeps_its_plan_and_starts_it_later(robot: Any) -> None:  # SC-16
    async with Harness().open() as harness:
        await harness.change_plan(word(plan_time=NOON + timedelta(seconds=1)))
        harness.robots.kept[MEMBER] = robot
        await at(harness, NOON + timedelta(seconds=2))
        await looked(harness)
        stored = await harness.plans.find(KEY)
        assert stored is not None
        assert stored.item.state is PlanState.PLANNED
        harness.robots.kept[MEMBER] = a_robot()
        await at(harness, NOON + timedelta(minutes=1))
        await until_state(harness, PlanState.STARTED)
        assert harness.published.requested_ids == [KEY]


async def test_a_full_robot_starts_its_plan_when_there_is_room() -> None:  # SC-10 SC-16
    async with Harness().open() as harness:
        harness.robots.kept[MEMBER] = a_robot(config={"quota": {"max": 1, "queue": 0}})
        for number in range(2):
            await harness.change_plan(word(plan_id=f"p{number}", plan_time=NOON))
        await until_state(harness, PlanState.STARTED, plan_key(TEAM, MEMBER, "p0"))
        await looked(harness)
        assert [item.plan_id for item in await harness.plans.listed(TEAM, MEMBER, 9)] == ["p1"]
        assert harness.published.rejected == []


async def test_a_robot_that_is_gone_loses_its_plan() -> None:  # TG-20
    async with Harness().open() as harness:
        await harness.change_plan(word(plan_time=NOON + timedelta(seconds=1)))
        harness.robots.kept[MEMBER] = a_robot(deleted=True)
        await at(harness, NOON + timedelta(seconds=1))
        plan = await until_state(harness, PlanState.REMOVED)
    assert plan.item.reason == "the robot was deleted"
    assert harness.published.requested_ids == []


async def test_what_a_deleted_robot_had_planned_is_removed_at_once() -> None:  # TG-20
    harness = Harness()
    for number in range(3):
        await harness.change_plan(word(plan_id=f"p{number}"))
    await harness.change_plan.remove_all(TEAM, MEMBER)
    assert len(await harness.plans.listed(TEAM, MEMBER, 9)) == 3  # it was made anew meanwhile
    harness.robots.kept[MEMBER] = a_robot(deleted=True)
    await harness.change_plan.remove_all(TEAM, MEMBER)
    assert await harness.plans.listed(TEAM, MEMBER, 9) == []
    assert [action for _, action in harness.published.plans] == ["plan.add"] * 3 + ["plan.remove"] * 3


async def test_without_a_time_it_starts_with_the_robots_next_cycle() -> None:  # SC-16, DEC-14
    async with Harness().open() as harness:
        config = {"quota": {"max": 9}, "clock": {"mode": "interval", "every": "1h"}}
        harness.robots.kept = {name: a_robot(member_id=name, config=config) for name in (MEMBER, "bob")}
        await harness.change_plan(word(plan_time=None))
        await harness.take(a_trigger("t1", "event"), a_trigger("t2", "clock", member_id="bob"))
        await looked(harness)
        assert await harness.state(KEY) is None
        await harness.take(a_trigger("t3", "clock"))
        await until_state(harness, PlanState.STARTED)
    assert set(harness.published.requested_ids) == {"t1", "t2", "t3", KEY}


async def test_a_cycle_that_is_refused_is_none() -> None:  # DEC-14
    async with Harness().open() as harness:
        config = {"clock": {"mode": "interval", "every": "1h"}}
        harness.robots.kept[MEMBER] = a_robot(config=config)
        await harness.change_plan(word(plan_time=None))
        harness.robots.kept[MEMBER] = a_robot(config=config | {"triggers": {"clock": {"enabled": False}}})
        await harness.take(a_trigger("t1", "clock"))
        await looked(harness)
        assert await harness.state(KEY) is None


async def test_without_a_clock_it_starts_when_the_next_run_ends_or_at_once() -> None:  # SC-16, DEC-46
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"), started("t1"))
        await harness.change_plan(word(plan_time=None))
        await looked(harness)
        assert await harness.state(KEY) is None
        await harness.take(finished("t1"))
        await until_state(harness, PlanState.STARTED)
        await harness.take(finished(KEY))
        await harness.change_plan(word(plan_id="p2", plan_time=None))
        await until_state(harness, PlanState.STARTED, plan_key(TEAM, MEMBER, "p2"))


async def test_an_end_that_no_dispatcher_noticed_starts_it_all_the_same() -> None:  # DEC-46 F3
    harness = Harness()
    await harness.plans.add(planned(plan_time=None))  # a run ended between a kill and the next dispatcher
    async with harness.open():
        await until_state(harness, PlanState.STARTED)


async def test_a_plan_that_is_changed_while_it_starts_is_started_as_changed() -> None:
    harness = Harness()
    write, tried = harness.queue.write, asyncio.Event()

    async def changed_meanwhile(batch: Any, *, owner: str, epoch: int) -> None:
        if batch.plans and not tried.is_set():
            tried.set()
            await harness.change_plan(word("plan.update", messages=[{"content": "Look at Initech"}]))
            with pytest.raises(PlansChanged):
                await write(batch, owner=owner, epoch=epoch)
            raise PlansChanged("one of the plans was changed since it was read")
        await write(batch, owner=owner, epoch=epoch)

    harness.queue.write = changed_meanwhile  # type: ignore[method-assign]  # what another replica does at this moment
    async with harness.open():
        await harness.change_plan(word(plan_time=NOON))
        plan = await until_state(harness, PlanState.STARTED)
        stored = (await harness.queue.stored([plan.execution_id]))[plan.execution_id]
    assert tried.is_set()
    assert stored.trigger.input.messages[0].content == "Look at Initech"
    assert harness.published.requested_ids == [KEY]


async def test_a_stored_fact_that_is_unpublished_is_published_later() -> None:
    async with Harness().open() as harness:
        assert await harness.plans.add(planned())  # its replica was killed before it could publish
        await at(harness, NOON + timedelta(seconds=6))
        while not harness.published.plans:
            await asyncio.sleep(0.01)
        await looked(harness)
    assert harness.published.plans == [("p1", "plan.add")]


async def test_an_item_whose_run_is_remembered_does_not_run_again() -> None:
    async with Harness().open() as harness:
        await harness.take(a_trigger(KEY, "human"))
        await harness.change_plan(word(plan_time=NOON))
        await until_state(harness, PlanState.STARTED)
    assert harness.published.requested_ids == [KEY]
