"""The queue by robot, in memory and in MongoDB: what runs and waits, the last run, and the merging of goals."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from rota_common.clock import now
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.goal_merge import ListWaiting, MergeInto
from scheduler.adapters.in_memory_queue import InMemoryQueue
from scheduler.adapters.in_memory_robot_queues import InMemoryRobotQueues
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.adapters.mongo_robot_queues import MongoRobotQueues
from scheduler.domain.admission import consider
from scheduler.domain.batch import Batch, Decided, Ended, Moved
from scheduler.domain.queue import Entry, EntryState
from scheduler.domain.robot_summary import summary_of
from scheduler.ports import Queue, RobotActivity, RobotQueues
from tests.conformance.dispatcher_lease import acquired

KEY = (TEAM, MEMBER)


@dataclass(frozen=True)
class Stores:
    queue: Queue
    robot_queues: RobotQueues

    async def write(self, *, at: datetime = NOON, **batch: Any) -> None:
        epoch = await acquired(self.queue)
        await self.queue.write(Batch(at=at, **batch), owner="first", epoch=epoch)

    async def waiting(self, *, member: str = MEMBER, team: str = TEAM, limit: int = 10) -> list[tuple[str, str]]:
        found = await self.robot_queues.waiting(ListWaiting(team_id=team, member_id=member, limit=limit))
        return [(each.execution_id, each.about) for each in found]

    async def merge(self, name: str, merge_id: str = "m1", *, goals: str = "and Initech", **given: Any) -> bool:
        fields: dict[str, Any] = {"team_id": TEAM, "member_id": MEMBER, "execution_id": eid(name), "goals": goals}
        return await self.robot_queues.merge(MergeInto.model_validate(fields | {"merge_id": merge_id} | given))

    async def messages(self, name: str) -> list[str]:
        stored = (await self.queue.stored([eid(name)]))[eid(name)]
        return [message.text() for message in stored.trigger.input.messages]


@pytest.fixture(params=["memory", "mongo"])
async def stores(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Stores]:
    if request.param == "memory":
        queue = InMemoryQueue(lease=60, clock=now)
        yield Stores(queue, InMemoryRobotQueues(queue))
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_scheduler")
    made = MongoQueue(mongo, lease=60), MongoRobotQueues(mongo.database)
    for store in made:
        await store.prepare()
    yield Stores(*made)
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()


def eid(name: str) -> str:
    return execution_id(name)


def decided(name: str, kind: str = "human", *, admitted: bool = False, **fields: Any) -> Decided:
    trigger = a_trigger(name, kind, **fields)
    robot = summary_of(a_robot(member_id=trigger.member_id))
    entry = consider(trigger, robot, now=NOON)
    assert isinstance(entry, Entry)
    return Decided(trigger, "", entry, admitted)


async def entry_of(stores: Stores, name: str) -> Entry:
    entry = (await stores.queue.load()).find(eid(name))
    assert entry is not None
    return entry


async def moved(stores: Stores, name: str, state: EntryState, *, parks: int = 1) -> dict[str, Moved]:
    return {eid(name): Moved(replace(await entry_of(stores, name), parks=parks), state)}


async def activities(stores: Stores, *members: str) -> Sequence[RobotActivity]:
    found = await stores.robot_queues.read([(TEAM, member) for member in members])
    return [found[TEAM, member] for member in members]


async def test_a_robot_without_executions_has_none(stores: Stores) -> None:  # TG-22
    assert await activities(stores, MEMBER) == [RobotActivity(running=[])]
    assert await stores.robot_queues.read([]) == {}


async def test_an_activity_counts_slots_and_what_waits_and_is_parked(stores: Stores) -> None:  # TG-22
    await stores.write(
        decided=[
            decided("t1", admitted=True),
            decided("t2", admitted=True),
            decided("t3"),
            decided("t4", admitted=True),
            decided("t5", member_id="bob"),
        ]
    )
    await stores.write(started=[eid("t1")], moved=await moved(stores, "t4", EntryState.PARKED))
    mine, bobs = await activities(stores, MEMBER, "bob")
    assert (sorted(mine.running), mine.queued, mine.parked) == (sorted([eid("t1"), eid("t2")]), 1, 1)
    assert (bobs.running, bobs.queued, bobs.parked) == ([], 1, 0)
    assert (mine.last_run, mine.last_status) == (None, None)


async def test_the_last_run_is_the_one_that_ended_last(stores: Stores) -> None:  # TG-18
    await stores.write(decided=[decided(name, admitted=True) for name in ("t1", "t2", "t3")])
    later = NOON + timedelta(minutes=1)
    await stores.write(at=later, ended=[Ended(eid("t1"), ExecStatus.FAILED)])
    await stores.write(at=later + timedelta(minutes=1), ended=[Ended(eid("t2"), ExecStatus.COMPLETED)])
    (found,) = await activities(stores, MEMBER)
    assert (found.last_run, found.last_status) == (NOON, ExecStatus.COMPLETED)
    assert found.running == [eid("t3")]


async def test_executions_that_wait_for_their_first_slot_are_listed_oldest_first(stores: Stores) -> None:  # SC-13
    await stores.write(decided=[decided("t1", admitted=True), decided("b1", member_id="bob")])
    for number in (3, 2):
        await stores.write(at=NOON + timedelta(minutes=9 - number), decided=[decided(f"t{number}")])
    await stores.write(at=NOON + timedelta(minutes=9), decided=[decided("t4", "event"), decided("t5", "clock")])
    await stores.write(moved=await moved(stores, "t1", EntryState.QUEUED))  # has begun
    listed = await stores.waiting()
    assert [each for each, _ in listed[:2]] == [eid("t3"), eid("t2")]
    assert {each for each, _ in listed[2:]} == {eid("t4"), eid("t5")}
    assert listed[0][1].startswith("a person: ")
    assert await stores.waiting(limit=1) == listed[:1]
    assert [each for each, _ in await stores.waiting(member="bob")] == [eid("b1")]
    assert await stores.waiting(team="globex") == []


async def test_a_trial_is_not_listed(stores: Stores) -> None:  # SC-13
    await stores.write(decided=[decided("t1", executor_mode="dryrun"), decided("t2", executor_mode="standard")])
    assert [each for each, _ in await stores.waiting()] == [eid("t2")]


async def test_goals_are_added_once_under_each_merge_id(stores: Stores) -> None:  # SC-13
    await stores.write(decided=[decided("t1")])
    before = await stores.messages("t1")
    assert [await stores.merge("t1"), await stores.merge("t1")] == [True, True]
    assert await stores.messages("t1") == [*before, "and Initech"]
    assert await stores.merge("t1", "m2", goals="and Hooli")
    assert await stores.messages("t1") == [*before, "and Initech", "and Hooli"]


async def test_goals_that_are_added_lower_the_role_and_never_raise_it(stores: Stores) -> None:  # SC-13 EX-65
    await stores.write(decided=[decided("t1", role="owner"), decided("t2", "clock")])
    roles = []
    for name, merge_id, role in (("t1", "m1", "admin"), ("t1", "m2", "owner"), ("t2", "m3", "member")):
        assert await stores.merge(name, merge_id, role=role)
        roles.append((await stores.queue.stored([eid(name)]))[eid(name)].trigger.role)
    assert roles == ["admin", "admin", "member"]


async def test_an_execution_that_has_its_slot_or_is_unknown_takes_no_goals(stores: Stores) -> None:  # SC-13
    await stores.write(decided=[decided("t1", admitted=True), decided("t2", admitted=True), decided("t3")])
    await stores.write(moved=await moved(stores, "t2", EntryState.QUEUED))
    before = await stores.messages("t1")
    for name in ("t1", "t2", "unknown"):
        assert not await stores.merge(name), name
    assert not await stores.merge("t3", member_id="bob")
    assert await stores.messages("t1") == before


async def test_a_merge_before_the_slot_is_confirmed_afterwards(stores: Stores) -> None:  # SC-13
    await stores.write(decided=[decided("t1")])
    assert await stores.merge("t1")
    await stores.write(admitted=[eid("t1")])
    assert [await stores.merge("t1"), await stores.merge("t1", "m2")] == [True, False]
