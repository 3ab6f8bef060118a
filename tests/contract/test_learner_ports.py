"""The learner's fake stores keep the same promises as the real ones."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from learner.adapters.fakes import DictHistory, DictLessons
from learner.adapters.mongo_history import MongoHistory
from learner.adapters.mongo_lessons import MongoLessons
from learner.domain import Learnt
from learner.history import Decided, Past
from learner.ports import History, Lessons
from rota_common.mongo import Mongo
from rota_contracts.learning import DedupDecision, GoalsChecked, Lesson, LessonType

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def learnt(run: str, *contents: str, team: str = "acme", member: str = "writer", rev: int = 1) -> Learnt:
    lessons = [
        Lesson(id=f"{run} {text}", type=LessonType.FEEDBACK, content=text, execution_id=run, learnt_at=NOON)
        for text in contents
    ]
    return Learnt(run, team, member, rev, tuple(lessons), None if contents else "no answer")


@pytest.fixture(params=["dict", "mongo"])
async def lessons(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Lessons]:
    if request.param == "dict":
        yield DictLessons()
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_learner")
    store = MongoLessons(mongo.database)
    await store.prepare()
    yield store
    await mongo.close()


@pytest.mark.parametrize("one", [learnt("e1", "a lesson", "another"), learnt("e1")])
async def test_what_is_saved_is_found(lessons: Lessons, one: Learnt) -> None:
    assert await lessons.find("e1") is None
    assert await lessons.save(one) == one
    assert await lessons.find("e1") == one


async def test_the_first_result_wins(lessons: Lessons) -> None:
    await lessons.save(learnt("e1", "first"))
    assert await lessons.save(learnt("e1", "second")) == learnt("e1", "first")
    assert await lessons.find("e1") == learnt("e1", "first")


async def test_of_many_at_once_one_wins(lessons: Lessons) -> None:
    saved = await asyncio.gather(*(lessons.save(learnt("e1", f"number {number}")) for number in range(10)))
    assert set(saved) == {await lessons.find("e1")}


async def test_a_run_can_be_removed(lessons: Lessons) -> None:
    await lessons.save(learnt("e1", "a lesson"))
    await lessons.save(learnt("e2", "a lesson"))
    await lessons.remove("e1")
    await lessons.remove("e1")
    assert await lessons.find("e1") is None
    assert await lessons.find("e2") is not None


async def test_a_robots_lessons_go_with_it_and_nobody_elses(lessons: Lessons) -> None:  # LE-07, Decision 31
    await lessons.save(learnt("e1", "a", rev=1))
    await lessons.save(learnt("e2", "b", rev=3))
    await lessons.save(learnt("e3", "c", team="a_b", member="c"))
    await lessons.save(learnt("e4", "d", team="a", member="b_c"))
    await lessons.remove_robot("acme", "writer", up_to_rev=2)
    await lessons.remove_robot("a_b", "c", up_to_rev=2)
    left = [run for run in ("e1", "e2", "e3", "e4") if await lessons.find(run)]
    assert left == ["e2", "e4"]


def a_run(run: str, **fields: Any) -> Past:
    given = {"team": "acme", "member": "writer", "rev": 1, "goals": "Write", "about": "clock", "delivered": "A text"}
    return Past(**({"execution_id": run, "status": "completed", "at": NOON} | given | fields))


def decided(run: str, reason: str = "", *, team: str = "acme", member: str = "writer", rev: int = 1) -> Decided:
    checked = GoalsChecked(decision=DedupDecision.MERGE, reason=reason, execution_id="e0", goals="the rest")
    return Decided(run, team, member, rev, checked, NOON)


async def known(history: History, team: str = "acme", member: str = "writer", **wanted: Any) -> list[str]:
    runs = await history.completed(team, member, **({"since": NOON - timedelta(days=1), "limit": 10} | wanted))
    return [run.execution_id for run in runs]


@pytest.fixture(params=["dict", "mongo"])
async def history(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[History]:
    if request.param == "dict":
        yield DictHistory()
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_learner")
    store = MongoHistory(mongo.database)
    await store.prepare()
    yield store
    await mongo.close()


async def test_a_run_is_kept_as_it_was_told_first(history: History) -> None:  # SC-13
    await history.add(a_run("e1"))
    await history.add(a_run("e1", goals="something else"))
    assert await history.completed("acme", "writer", since=NOON, limit=10) == [a_run("e1")]


async def test_completed_runs_of_the_window_are_found_newest_first(history: History) -> None:  # SC-13
    for hour in range(5):
        await history.add(a_run(f"e{hour}", at=NOON + timedelta(hours=hour)))
    await history.add(a_run("failed", status="failed", at=NOON + timedelta(hours=9)))
    await history.add(a_run("old", at=NOON - timedelta(days=2)))
    assert await known(history) == ["e4", "e3", "e2", "e1", "e0"]
    assert await known(history, limit=2) == ["e4", "e3"]
    assert await known(history, since=NOON + timedelta(hours=3), without="e4") == ["e3"]


async def test_a_robot_has_a_history_of_its_own(history: History) -> None:  # Decision 31
    await history.add(a_run("e1", team="a_b", member="c"))
    await history.add(a_run("e2", team="a", member="b_c"))
    assert await known(history, "a_b", "c") == ["e1"]


async def test_the_first_decision_wins(history: History) -> None:  # SC-13
    assert await history.decided("e1") is None
    assert await history.decide(decided("e1", "first")) == decided("e1", "first")
    assert await history.decide(decided("e1", "second")) == decided("e1", "first")
    assert await history.decided("e1") == decided("e1", "first")


async def test_of_many_decisions_at_once_one_wins(history: History) -> None:
    saved = await asyncio.gather(*(history.decide(decided("e1", f"number {number}")) for number in range(10)))
    assert len({one.checked.reason for one in saved}) == 1


async def test_a_run_is_removed_with_its_decision(history: History) -> None:
    for run in ("e1", "e2"):
        await history.add(a_run(run))
        await history.decide(decided(run))
    await history.remove("e1")
    await history.remove("e1")
    assert await known(history) == ["e2"]
    assert (await history.decided("e1"), await history.decided("e2")) == (None, decided("e2"))


async def test_a_robots_history_goes_with_it_and_nobody_elses(history: History) -> None:  # LE-07
    owners: dict[str, dict[str, Any]] = {
        "e1": {"rev": 2},
        "e2": {"rev": 3},
        "e3": {"team": "a_b", "member": "c"},
        "e4": {"team": "a", "member": "b_c"},
    }
    for run, owner in owners.items():
        await history.add(a_run(run, **owner))
        await history.decide(decided(run, **owner))
    await history.remove_robot("acme", "writer", up_to_rev=2)
    await history.remove_robot("a_b", "c", up_to_rev=2)
    left = [*await known(history), *await known(history, "a_b", "c"), *await known(history, "a", "b_c")]
    assert left == ["e2", "e4"]
    assert [run for run in ("e1", "e2", "e3", "e4") if await history.decided(run)] == ["e2", "e4"]
