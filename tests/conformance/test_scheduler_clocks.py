"""Robots' clocks, in MongoDB and in memory: each moves from one state to the next once; due ones are found by index."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import NOON, a_robot
from rota_contracts.messages.trigger import MissReason
from rota_contracts.robots.clock_config import Clock
from scheduler.adapters.in_memory_clocks import InMemoryClocks
from scheduler.adapters.mongo_clocks import MongoClocks
from scheduler.domain.clock_state import Change, ClockState, Missed, MissedFact, set_clock
from scheduler.domain.robot_summary import summary_of
from scheduler.ports import Clocks

EVERY = Clock.model_validate({"mode": "interval", "every": "30m", "catch_up": {"policy": "all", "max_age": "2h"}})
HALF_HOUR = timedelta(minutes=30)
SKIPPED = Missed(NOON, NOON + HALF_HOUR, 2, MissReason.SKIPPED, "2 runs were due")


@pytest.fixture
async def mongo(mongo_url: str, mongo_prefix: str) -> AsyncIterator[Mongo]:
    made = Mongo(mongo_url, f"{mongo_prefix}_scheduler")
    yield made
    await made.client.drop_database(made.database.name)
    await made.close()


@pytest.fixture
async def mongo_clocks(mongo: Mongo) -> MongoClocks:
    store = MongoClocks(mongo.database)
    await store.prepare()
    await store.prepare()
    return store


@pytest.fixture(params=["mongo", "memory"])
def clocks(request: pytest.FixtureRequest) -> Clocks:
    if request.param == "memory":
        return InMemoryClocks()
    store: Clocks = request.getfixturevalue("mongo_clocks")
    return store


def a_state(member: str = "ann", **fields: Any) -> ClockState:
    state = set_clock(summary_of(a_robot(member_id=member)), EVERY, None, NOON)
    return replace(state, **fields)


def moved(state: ClockState) -> ClockState:
    due = (state.next_run or NOON) + HALF_HOUR
    return replace(state, next_run=due, check_at=due)


async def stored(clocks: Clocks, state: ClockState) -> ClockState:
    return (await clocks.find([state.key]))[state.key]


async def test_a_clock_is_read_as_it_was_written(clocks: Clocks) -> None:  # SC-07
    running = a_state("bob", next_run=None, check_at=NOON, running="e1", failures=3, room=7)
    asleep = a_state("cid", next_run=None, check_at=None)
    states = [a_state(), running, asleep]
    assert await clocks.write([Change(None, state) for state in states]) == 3
    assert await clocks.find([state.key for state in states] + [("acme", "missing")]) == {
        state.key: state for state in states
    }
    assert await clocks.revs() == {state.key: 1 for state in states}


async def test_nothing_is_written_where_nothing_changes(clocks: Clocks) -> None:
    assert await clocks.write([]) == 0
    await clocks.remove({})
    await clocks.mark_published([])
    assert (await clocks.revs(), await clocks.due(NOON, 9), await clocks.unpublished(9)) == ({}, [], [])


async def test_a_clock_that_is_there_is_not_made_anew(clocks: Clocks) -> None:
    first = a_state()
    assert await clocks.write([Change(None, first)]) == 1
    assert await clocks.write([Change(None, replace(first, anchor=NOON + HALF_HOUR))]) == 0
    assert await stored(clocks, first) == first


@pytest.mark.parametrize(
    "other",
    [
        {"rev": 2},
        {"next_run": NOON + 9 * HALF_HOUR},
        {"check_at": NOON + 9 * HALF_HOUR},
        {"next_run": None, "check_at": None},
        {"running": "e1"},
    ],
    ids=lambda other: " ".join(other),
)
async def test_a_clock_that_another_replica_has_moved_is_not_moved(
    clocks: Clocks, other: dict[str, Any]
) -> None:  # SC-07
    old = a_state()
    await clocks.write([Change(None, old)])
    assert await clocks.write([Change(old, replace(old, **other))]) == 1
    assert await clocks.write([Change(old, moved(old), [SKIPPED], NOON)]) == 0
    assert await stored(clocks, old) == replace(old, **other)
    assert await clocks.unpublished(9) == []


async def test_of_many_that_move_a_clock_at_once_one_does(clocks: Clocks) -> None:  # SC-07
    old = a_state()
    await clocks.write([Change(None, old)])
    counts = await asyncio.gather(*(clocks.write([Change(old, moved(old), [SKIPPED], NOON)]) for _ in range(8)))
    assert sum(counts) == 1
    assert [each.number for each in await clocks.unpublished(9)] == [1]


async def test_one_that_is_not_as_it_was_keeps_no_other_from_moving(clocks: Clocks) -> None:
    states = [a_state(name) for name in ("ann", "bob", "cid")]
    await clocks.write([Change(None, state) for state in states])
    stale = replace(states[1], rev=9)
    assert await clocks.write([Change(each, moved(each)) for each in (states[0], stale, states[2])]) == 2
    assert await stored(clocks, states[1]) == states[1]
    assert await stored(clocks, states[2]) == moved(states[2])


async def test_a_clock_is_removed_by_the_revision_that_took_it_away_or_a_later_one(clocks: Clocks) -> None:
    states = [a_state("ann", rev=3), a_state("bob", rev=3), a_state("cid", rev=3)]
    await clocks.write([Change(None, state) for state in states])
    await clocks.remove({states[0].key: 2, states[1].key: 3, states[2].key: 4})
    assert await clocks.revs() == {states[0].key: 3}


async def test_what_is_due_is_found_the_longest_due_first(clocks: Clocks) -> None:  # SC-14
    looks = {"ann": NOON, "bob": NOON - HALF_HOUR, "cid": NOON + timedelta(milliseconds=1), "dot": None}
    await clocks.write([Change(None, a_state(name, check_at=at)) for name, at in looks.items()])
    assert [state.member for state in await clocks.due(NOON, 9)] == ["bob", "ann"]
    assert [state.member for state in await clocks.due(NOON, 1)] == ["bob"]


async def test_a_clock_that_is_put_to_sleep_is_not_due_any_more(clocks: Clocks) -> None:
    old = a_state(running="e1")
    await clocks.write([Change(None, old)])
    await clocks.write([Change(old, replace(old, next_run=None, check_at=None, running=None))])
    assert await clocks.due(NOON + HALF_HOUR, 9) == []
    state = await stored(clocks, old)
    assert (state.next_run, state.check_at, state.running) == (None, None, None)


async def test_due_clocks_and_unpublished_facts_are_found_by_an_index(
    mongo_clocks: MongoClocks, mongo: Mongo
) -> None:  # SC-14
    await mongo_clocks.write([Change(None, a_state(f"m{number}")) for number in range(50)])
    questions = ({"check_at": {"$lte": NOON}}, {"unpublished.at": {"$exists": True}})
    for question in questions:
        plan = await mongo.database["clocks"].find(question).sort("check_at", 1).limit(9).explain()
        assert "IXSCAN" in str(plan["queryPlanner"]["winningPlan"])
        assert "COLLSCAN" not in str(plan["queryPlanner"]["winningPlan"])
        assert plan["executionStats"]["totalDocsExamined"] == 0


async def test_a_missed_run_is_unpublished_until_it_is_marked_as_published(clocks: Clocks) -> None:  # SC-07
    first = a_state()
    too_old = replace(SKIPPED, reason=MissReason.TOO_OLD, count=1)
    await clocks.write([Change(None, first)])
    await clocks.write([Change(first, moved(first), [SKIPPED, too_old], NOON)])
    second = await stored(clocks, first)
    assert second.missed_facts == 2
    await clocks.write([Change(second, moved(second), [SKIPPED], NOON + HALF_HOUR)])
    facts = [
        MissedFact(first.key, 1, SKIPPED, NOON),
        MissedFact(first.key, 2, too_old, NOON),
        MissedFact(first.key, 3, SKIPPED, NOON + HALF_HOUR),
    ]
    assert await clocks.unpublished(9) == facts
    await clocks.mark_published(facts[:2])
    await clocks.mark_published(facts[:2])
    assert await clocks.unpublished(9) == facts[2:]
    await clocks.mark_published(facts)
    assert await clocks.unpublished(9) == []
    assert (await stored(clocks, first)).missed_facts == 3
