"""The plan queue and the asks to take back, in memory, keep the same promises as those in MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from rota_common.clock import now
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts.ids import execution_id
from rota_contracts.messages.control import Withdraw, WithdrawReply
from rota_contracts.messages.plan import ChangePlan, PlanState
from rota_contracts.messages.trigger import RejectReason
from scheduler.adapters.in_memory_plans import InMemoryPlans
from scheduler.adapters.in_memory_queue import InMemoryCancelRequests, InMemoryQueue
from scheduler.adapters.mongo_cancel_requests import MongoCancelRequests
from scheduler.adapters.mongo_plans import MongoPlans
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.dispatching.decide import stop_refusal
from scheduler.domain.admission import consider
from scheduler.domain.batch import Batch, Cancelled, Decided, Moved
from scheduler.domain.plan import Plan, change, plan_key, remove, start
from scheduler.domain.queue import Entry, EntryState, QueueState, Refusal
from scheduler.domain.robot_summary import RobotSummary, summary_of
from scheduler.ports import CancelRequests, Plans, PlansChanged, Queue
from tests.conformance.dispatcher_lease import acquired

STALE = 1.0


def a_card(**fields: Any) -> RobotSummary:
    return summary_of(a_robot(**fields))


@dataclass(frozen=True)
class Stores:
    queue: Queue
    plans: Plans
    cancel_requests: CancelRequests

    async def write(self, **batch: Any) -> None:
        epoch = await acquired(self.queue)
        await self.queue.write(Batch(at=NOON, **batch), owner="first", epoch=epoch)


@pytest.fixture(params=["memory", "mongo"])
async def stores(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Stores]:
    if request.param == "memory":
        plans = InMemoryPlans()
        queue = InMemoryQueue(lease=9, clock=now, plans=plans)
        yield Stores(queue, plans, InMemoryCancelRequests(queue, clock=now, stale=STALE))
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_scheduler")
    made = MongoQueue(mongo, lease=9), MongoPlans(mongo.database), MongoCancelRequests(mongo.database, stale=STALE)
    for store in (*made, *made):
        await store.prepare()
    yield Stores(*made)
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()


def planned(plan_id: str = "p1", *, at: datetime | None = NOON, team: str = TEAM, member: str = MEMBER) -> Plan:
    words = [{"content": "Look at $Globex"}]
    given = {"team_id": team, "member_id": member, "action": "plan.add", "messages": words, "plan_time": at}
    plan = change(None, ChangePlan.model_validate(given | {"plan_id": plan_id}), NOON)
    assert isinstance(plan, Plan)
    return plan


def decided(trigger_id: str, *, admitted: bool = False, **fields: Any) -> Decided:
    trigger = a_trigger(trigger_id, **fields)
    entry = consider(trigger, a_card(team_id=trigger.team_id, member_id=trigger.member_id), now=NOON)
    return Decided(trigger, "", entry, admitted)


async def test_a_plan_is_stored_whole(stores: Stores) -> None:  # SC-16
    plan = planned(at=NOON + timedelta(microseconds=123456))
    assert await stores.plans.add(plan)
    stored = await stores.plans.find(plan.key)
    assert stored is not None
    assert (stored.item, stored.changes, stored.unpublished) == (plan.item, 1, plan.unpublished)
    assert await stores.plans.find(plan_key(TEAM, MEMBER, "p2")) is None


async def test_of_several_with_one_name_the_first_is_kept(stores: Stores) -> None:  # SC-16
    added = await asyncio.gather(*(stores.plans.add(planned(at=NOON + timedelta(hours=n))) for n in range(6)))
    assert sorted(added) == [False] * 5 + [True]


async def test_a_change_replaces_the_revision_before_it_and_no_other(stores: Stores) -> None:
    plan = planned()
    await stores.plans.add(plan)
    gone = remove(plan, NOON, reason="the robot was deleted")
    assert await stores.plans.change(gone)
    assert not await stores.plans.change(start(plan, NOON))
    assert not await stores.plans.change(planned("never-added"))
    stored = await stores.plans.find(plan.key)
    assert stored == gone


async def test_the_soonest_is_listed_first_and_what_has_no_time_last(stores: Stores) -> None:  # SC-16
    for plan in (planned("none", at=None), planned("late", at=NOON + timedelta(days=1)), planned("soon")):
        await stores.plans.add(plan)
    await stores.plans.add(planned("bobs", member="bob", at=NOON + timedelta(hours=1)))
    await stores.plans.add(planned("theirs", team="initech"))
    over = planned("over")
    await stores.plans.add(over)
    await stores.plans.change(start(over, NOON))
    assert [item.plan_id for item in await stores.plans.listed(TEAM, None, 9)] == ["soon", "bobs", "late", "none"]
    assert [item.plan_id for item in await stores.plans.listed(TEAM, MEMBER, 2)] == ["soon", "late"]


async def test_what_is_due_is_found_until_it_is_postponed_or_over(stores: Stores) -> None:  # SC-16
    plans = [planned(f"p{n}", at=NOON + timedelta(minutes=n)) for n in range(4)]
    for plan in reversed(plans):
        await stores.plans.add(plan)
    later = NOON + timedelta(minutes=2)
    assert [plan.item.plan_id for plan in await stores.plans.due(later, 9)] == ["p0", "p1", "p2"]
    assert [plan.item.plan_id for plan in await stores.plans.due(later, 1)] == ["p0"]
    await stores.plans.postpone(plans[0], NOON + timedelta(hours=1))
    await stores.plans.postpone(replace(plans[1], changes=7), NOON + timedelta(hours=1))  # it was changed meanwhile
    await stores.plans.change(remove(plans[2], NOON))
    assert [plan.item.plan_id for plan in await stores.plans.due(later, 9)] == ["p1"]


async def test_a_cycle_makes_due_what_its_robots_have_planned_without_a_time(stores: Stores) -> None:  # DEC-14
    for member in ("ann", "bob", "cid"):
        await stores.plans.add(planned(f"{member}-none", member=member, at=None))
        await stores.plans.add(planned(f"{member}-late", member=member, at=NOON + timedelta(days=1)))
    assert await stores.plans.timeless(2) == [(TEAM, "ann"), (TEAM, "bob")]
    await stores.plans.call([(TEAM, "ann"), (TEAM, "bob"), ("initech", "cid")], NOON)
    assert await stores.plans.timeless(2) == [(TEAM, "cid")]
    assert {plan.item.plan_id for plan in await stores.plans.due(NOON, 9)} == {"ann-none", "bob-none"}


async def test_a_fact_is_kept_until_it_is_marked_as_published(stores: Stores) -> None:
    plan = planned()
    await stores.plans.add(plan)
    await stores.plans.change(start(plan, NOON + timedelta(seconds=1)))
    assert await stores.plans.unpublished(NOON - timedelta(seconds=1), 9) == []
    (found,) = await stores.plans.unpublished(NOON, 9)
    assert [each.fact.action for each in found.unpublished] == ["plan.add", "plan.start"]
    await stores.plans.mark_published(plan)  # the first alone
    (found,) = await stores.plans.unpublished(NOON + timedelta(seconds=1), 9)
    assert [each.fact.action for each in found.unpublished] == ["plan.start"]
    await stores.plans.mark_published(found)
    assert await stores.plans.unpublished(NOON + timedelta(days=1), 9) == []


async def test_a_batch_starts_its_plans_together_with_their_executions(stores: Stores) -> None:  # SC-16
    plan = planned()
    await stores.plans.add(plan)
    await stores.write(decided=[decided(plan.key, type="human")], plans=[start(plan, NOON)])
    stored = await stores.plans.find(plan.key)
    assert stored is not None
    assert (stored.item.state, stored.item.execution_id) == (PlanState.STARTED, plan.execution_id)
    assert list((await stores.queue.load()).queued) == [plan.execution_id]


async def test_a_batch_with_a_plan_that_was_changed_writes_nothing(stores: Stores) -> None:
    kept, plan = planned("p0"), planned("p1")
    for each in (kept, plan):
        await stores.plans.add(each)
    await stores.plans.change(remove(plan, NOON))
    with pytest.raises(PlansChanged):
        await stores.write(
            decided=[decided(kept.key, type="human"), decided(plan.key, type="human")],
            plans=[start(kept, NOON), start(plan, NOON)],
        )
    stored = await stores.plans.find(kept.key)
    assert stored is not None
    assert stored.item.state is PlanState.PLANNED
    assert await stores.queue.load() == QueueState()


async def test_an_ask_is_open_until_a_batch_answers_it(stores: Stores) -> None:  # TG-16
    question = Withdraw(team_id=TEAM, reason="$costs too much")
    first, second = [await stores.cancel_requests.ask(question) for _ in range(2)]
    assert [(each.request_id, each.question) for each in await stores.cancel_requests.asked()] == [
        (first, question),
        (second, question),
    ]
    await stores.write(answered=[first])
    assert [await stores.cancel_requests.is_open(each) for each in (first, second)] == [False, True]
    assert [each.request_id for each in await stores.cancel_requests.asked()] == [second]


async def test_an_expired_cancel_request_is_ignored(stores: Stores) -> None:
    request_id = await stores.cancel_requests.ask(Withdraw(team_id=TEAM))
    assert len(await stores.cancel_requests.asked()) == 1
    async with asyncio.timeout(10 * STALE):
        while await stores.cancel_requests.asked():
            await asyncio.sleep(0.05)
    assert await stores.cancel_requests.is_open(request_id)  # its caller received that no replica dispatches


async def test_its_outcome_is_what_was_stopped_and_what_is_about_to_begin(stores: Stores) -> None:  # TG-16
    names = ("waits", "before", "deleted", "runs", "admitted", "resumed")
    rows = [decided(name, admitted=name in ("runs", "admitted", "resumed")) for name in names]
    ids = {name: execution_id(name) for name in names}
    await stores.write(decided=[*rows, decided("bobs", member_id="bob"), decided("theirs", team_id="initech")])
    resumed = (await stores.queue.load()).active[ids["resumed"]]
    gone = Refusal(RejectReason.ROBOT_DELETED, "the robot was deleted")
    back = [Cancelled(ids["waits"], stop_refusal("")), Cancelled(ids["deleted"], gone)]
    back += [Cancelled(execution_id(name), stop_refusal("")) for name in ("bobs", "theirs")]
    moved = {ids["resumed"]: Moved(replace(resumed, parks=1), EntryState.ADMITTED)}
    await stores.write(started=[ids["runs"]], moved=moved, cancelled=back)
    asked = stores.cancel_requests.outcome
    everything = WithdrawReply(execution_ids=sorted([ids["waits"], execution_id("bobs")]), admitted=[ids["admitted"]])
    assert await asked(Withdraw(team_id=TEAM), NOON) == everything
    assert (await asked(Withdraw(team_id=TEAM, member_id=MEMBER), NOON)).execution_ids == [ids["waits"]]
    later = NOON + timedelta(minutes=2)
    assert (await asked(Withdraw(team_id=TEAM), later)).execution_ids == []
    one = Withdraw(team_id=TEAM, member_id=MEMBER, execution_id=ids["waits"])
    assert await asked(one, later) == WithdrawReply(execution_ids=[ids["waits"]])
    assert await asked(one.model_copy(update={"team_id": "initech"}), NOON) == WithdrawReply()


async def test_a_trigger_rejected_by_a_cancel_request_at_once_is_among_the_stopped(stores: Stores) -> None:
    row = decided("t1")
    assert isinstance(row.verdict, Entry)
    await stores.write(decided=[replace(row, verdict=stop_refusal("too late"))])
    outcome = await stores.cancel_requests.outcome(Withdraw(team_id=TEAM), NOON)
    assert outcome == WithdrawReply(execution_ids=[execution_id("t1")])
