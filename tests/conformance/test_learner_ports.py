"""The learner's stores: the fakes and the real adapters keep the same promises."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from learner.adapters import mongo_retention
from learner.adapters.in_memory import InMemoryHistory, InMemoryLessons
from learner.adapters.mongo_history import MongoHistory
from learner.adapters.mongo_lessons import MongoLessons
from learner.domain import AgedRobot, RunLessons
from learner.history import GoalsDecision, PastRun
from learner.ports import History, Lessons
from rota_common.page_cursor import PageCursor
from rota_common.stores.mongo import Mongo
from rota_contracts.messages.learning import DedupDecision, GoalsReply, Lesson, LessonType
from rota_contracts.messages.usage import ModelCall, Usage

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
CALLS = (ModelCall(model="small", usage=Usage(tokens_in=5), cost=0.1, currency="USD"),)
DAY, MOMENT = timedelta(days=1), timedelta(milliseconds=1)


def learnt(
    run: str,
    *contents: str,
    team: str = "acme",
    member: str = "writer",
    rev: int = 1,
    at: datetime = NOON,
    scope: str = "",
) -> RunLessons:
    lessons = [
        Lesson(id=f"{run} {text}", type=LessonType.FEEDBACK, content=text, execution_id=run, learnt_at=at, scope=scope)
        for text in contents
    ]
    return RunLessons(run, team, member, rev, at, tuple(lessons), None if contents else "no answer", CALLS)


@pytest.fixture(params=["memory", "mongo"])
async def lessons(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Lessons]:
    if request.param == "memory":
        yield InMemoryLessons()
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_learner")
    store = MongoLessons(mongo.database)
    await store.prepare()
    yield store
    await mongo.close()


@pytest.mark.parametrize("one", [learnt("e1", "a lesson", "another"), learnt("e1")])
async def test_saved_lessons_are_found(lessons: Lessons, one: RunLessons) -> None:
    assert await lessons.find("e1") is None
    assert await lessons.save(one) == one
    assert await lessons.find("e1") == one


async def test_the_first_result_wins(lessons: Lessons) -> None:
    await lessons.save(learnt("e1", "first"))
    assert await lessons.save(learnt("e1", "second")) == learnt("e1", "first")
    assert await lessons.find("e1") == learnt("e1", "first")


async def test_of_results_saved_at_once_one_wins(lessons: Lessons) -> None:
    saved = await asyncio.gather(*(lessons.save(learnt("e1", f"number {number}")) for number in range(10)))
    assert set(saved) == {await lessons.find("e1")}


async def test_a_run_can_be_removed(lessons: Lessons) -> None:
    await lessons.save(learnt("e1", "a lesson"))
    await lessons.save(learnt("e2", "a lesson"))
    await lessons.remove("e1")
    await lessons.remove("e1")
    assert await lessons.find("e1") is None
    assert await lessons.find("e2") is not None


async def listed(lessons: Lessons, **wanted: Any) -> list[str]:
    return [run.execution_id for run in await lessons.page("acme", "writer", **{"limit": 10, **wanted})]


async def test_runs_with_lessons_are_listed_newest_first_page_by_page(lessons: Lessons) -> None:  # F15
    for number, run in enumerate(["e1", "e2", "e3"]):
        await lessons.save(learnt(run, "a", "b", at=NOON + number // 2 * DAY))
    await lessons.save(learnt("without"))
    await lessons.save(learnt("of another", "a", member="reader"))
    await lessons.save(learnt("of another team", "a", team="globex"))
    assert await lessons.page("acme", "writer", limit=1) == [learnt("e3", "a", "b", at=NOON + DAY)]
    assert await listed(lessons) == ["e3", "e2", "e1"]
    assert await listed(lessons, after=PageCursor(NOON + DAY, "e3"), limit=1) == ["e2"]
    assert await listed(lessons, after=PageCursor(NOON, "e2")) == ["e1"]


async def test_some_lessons_are_forgotten_and_the_rest_of_the_run_stays(lessons: Lessons) -> None:  # F15
    await lessons.save(learnt("e1", "a", "b"))
    await lessons.save(learnt("x1", "a", member="reader"))
    assert await lessons.forget("acme", "writer", ids=["e1 a", "x1 a", "unknown"]) == 1
    assert await lessons.forget("acme", "writer", ids=["e1 a"]) == 0
    assert await lessons.find("e1") == learnt("e1", "b")
    assert await lessons.find("x1") == learnt("x1", "a", member="reader")


async def test_all_lessons_or_those_of_a_scope_are_forgotten_and_their_runs_stay_known(lessons: Lessons) -> None:  # F15
    for run, scope in {"e1": "c-1", "e2": "c-1", "e3": "c-10", "e4": ""}.items():
        await lessons.save(learnt(run, "a", "b", scope=scope))
    await lessons.save(learnt("x1", "a", team="globex", scope="c-1"))
    assert await listed(lessons, scope="c-1") == ["e2", "e1"]
    assert await lessons.forget("acme", "writer", scope="c-1") == 4
    assert await listed(lessons) == ["e4", "e3"]
    assert await lessons.find("e1") == replace(learnt("e1"), error=None)
    assert await lessons.forget("acme", "writer") == 4
    assert await listed(lessons) == []
    assert await lessons.find("x1") == learnt("x1", "a", team="globex", scope="c-1")


async def test_a_robots_lessons_are_removed_with_it_alone(lessons: Lessons) -> None:  # LE-07, DEC-31
    await lessons.save(learnt("e1", "a", rev=1))
    await lessons.save(learnt("e2", "b", rev=3))
    await lessons.save(learnt("e3", "c", team="a_b", member="c"))
    await lessons.save(learnt("e4", "d", team="a", member="b_c"))
    await lessons.remove_robot("acme", "writer", up_to_rev=2)
    await lessons.remove_robot("a_b", "c", up_to_rev=2)
    left = [run for run in ("e1", "e2", "e3", "e4") if await lessons.find(run)]
    assert left == ["e2", "e4"]


def named(found: list[AgedRobot]) -> set[tuple[str, str, datetime]]:
    return {(one.team, one.member, one.oldest) for one in found}


async def test_robots_with_old_lessons_are_found_each_once_with_the_oldest(lessons: Lessons) -> None:  # LE-06
    owners = [("a", "x"), ("a", "y"), ("a_b", "c"), ("b", "x"), ("c", "x")]
    for number, (team, member) in enumerate(owners):
        for days in (3, 1, 2):
            await lessons.save(learnt(f"{number} {days}", "a", team=team, member=member, at=NOON - days * DAY))
    await lessons.save(learnt("young", "a", team="b", member="young", at=NOON - DAY))
    found = [one async for one in lessons.aged(NOON - DAY)]
    assert len(found) == len(owners)
    assert named(found) == {(*owner, NOON - 3 * DAY) for owner in owners}
    assert [one async for one in lessons.aged(NOON - 3 * DAY)] == []


async def test_old_lessons_of_one_robot_are_removed_and_counted(lessons: Lessons) -> None:  # LE-06
    ages = {"older": NOON - MOMENT, "noon": NOON, "younger": NOON + MOMENT}
    for run, at in ages.items():
        await lessons.save(learnt(run, "a", at=at))
    for run, owner in {"x1": ("a_b", "c"), "x2": ("a", "b_c"), "x3": ("acme", "reader")}.items():
        await lessons.save(learnt(run, "a", team=owner[0], member=owner[1], at=NOON - DAY))
    assert await lessons.remove_before("a_b", "c", NOON) == 1
    assert [await lessons.remove_before("acme", "writer", NOON) for _ in range(2)] == [1, 0]
    assert [run for run in (*ages, "x1", "x2", "x3") if await lessons.find(run)] == ["noon", "younger", "x2", "x3"]


async def test_many_old_lessons_are_removed_in_several_commands(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongo_retention, "BATCH", 2)
    for number in range(5):
        await lessons.save(learnt(f"e{number}"))
    assert await lessons.remove_before("acme", "writer", NOON + MOMENT) == 5


async def test_robots_are_found_by_index_and_not_document_by_document(mongo_url: str, mongo_prefix: str) -> None:
    mongo = Mongo(mongo_url, f"{mongo_prefix}_learner")
    store = MongoLessons(mongo.database)
    await store.prepare()
    for number in range(200):
        await store.save(learnt(f"e{number}", member=f"m{number % 2}", at=NOON + number * MOMENT))
    await mongo.database.command({"profile": 2})
    assert [one.member async for one in store.aged(NOON + DAY)] == ["m0", "m1"]
    await mongo.database.command({"profile": 0})
    looks = [look async for look in mongo.database["system.profile"].find({"op": "query"})]
    assert sum(look["docsExamined"] for look in looks) <= 4
    assert sum(look["keysExamined"] for look in looks) <= 20
    await mongo.close()


def a_run(run: str, **fields: Any) -> PastRun:
    given = {"team": "acme", "member": "writer", "rev": 1, "goals": "Write", "about": "clock", "delivered": "A text"}
    return PastRun(**({"execution_id": run, "status": "completed", "at": NOON} | given | fields))


def decision(
    run: str, reason: str = "", *, team: str = "acme", member: str = "writer", rev: int = 1, at: datetime = NOON
) -> GoalsDecision:
    checked = GoalsReply(decision=DedupDecision.MERGE, reason=reason, execution_id="e0", goals="the rest")
    return GoalsDecision(run, team, member, rev, checked, at)


async def known(history: History, team: str = "acme", member: str = "writer", **wanted: Any) -> list[str]:
    runs = await history.completed(team, member, **({"since": NOON - timedelta(days=1), "limit": 10} | wanted))
    return [run.execution_id for run in runs]


@pytest.fixture(params=["memory", "mongo"])
async def history(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[History]:
    if request.param == "memory":
        yield InMemoryHistory()
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_learner")
    store = MongoHistory(mongo.database)
    await store.prepare()
    yield store
    await mongo.close()


async def test_a_run_is_kept_as_it_was_first_added(history: History) -> None:  # SC-13
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


async def test_a_robot_has_a_history_of_its_own(history: History) -> None:  # DEC-31
    await history.add(a_run("e1", team="a_b", member="c"))
    await history.add(a_run("e2", team="a", member="b_c"))
    assert await known(history, "a_b", "c") == ["e1"]


async def test_the_first_decision_wins(history: History) -> None:  # SC-13
    assert await history.decision("e1") is None
    assert await history.save_decision(decision("e1", "first")) == decision("e1", "first")
    assert await history.save_decision(decision("e1", "second")) == decision("e1", "first")
    assert await history.decision("e1") == decision("e1", "first")


async def test_of_decisions_saved_at_once_one_wins(history: History) -> None:
    saved = await asyncio.gather(*(history.save_decision(decision("e1", f"number {number}")) for number in range(10)))
    assert len({one.reply.reason for one in saved}) == 1


async def test_a_run_is_removed_with_its_decision(history: History) -> None:
    for run in ("e1", "e2"):
        await history.add(a_run(run))
        await history.save_decision(decision(run))
    await history.remove("e1")
    await history.remove("e1")
    assert await known(history) == ["e2"]
    assert (await history.decision("e1"), await history.decision("e2")) == (None, decision("e2"))


async def test_old_runs_and_decisions_are_found_and_removed(history: History) -> None:  # LE-06
    await history.add(a_run("old", at=NOON - 3 * DAY, status="failed"))
    await history.add(a_run("new", at=NOON))
    await history.save_decision(decision("decided", at=NOON - 2 * DAY))
    await history.save_decision(decision("of another", member="reader", at=NOON - 4 * DAY))
    found = [one async for one in history.aged(NOON - DAY)]
    assert named(found) >= {("acme", "writer", NOON - 3 * DAY), ("acme", "reader", NOON - 4 * DAY)}
    assert {one.member for one in found} == {"writer", "reader"}
    assert [await history.remove_before("acme", "writer", NOON) for _ in range(2)] == [2, 0]
    assert await known(history) == ["new"]
    assert [await history.decision(run) is None for run in ("decided", "of another")] == [True, False]


async def test_an_unsure_decision_is_confirmed_once(history: History) -> None:  # SC-13
    assert await history.confirm(decision("e1", "nothing to confirm")) == decision("e1", "nothing to confirm")
    assert await history.decision("e1") is None
    unsure = replace(decision("e1", "unsure"), sure=False)
    assert await history.save_decision(unsure) == unsure
    assert await history.decision("e1") == unsure
    assert await history.confirm(decision("e1", "confirmed")) == decision("e1", "confirmed")
    assert await history.confirm(decision("e1", "again")) == decision("e1", "confirmed")
    assert await history.decision("e1") == decision("e1", "confirmed")


async def test_a_robots_history_is_removed_with_it_alone(history: History) -> None:  # LE-07
    owners: dict[str, dict[str, Any]] = {
        "e1": {"rev": 2},
        "e2": {"rev": 3},
        "e3": {"team": "a_b", "member": "c"},
        "e4": {"team": "a", "member": "b_c"},
    }
    for run, owner in owners.items():
        await history.add(a_run(run, **owner))
        await history.save_decision(decision(run, **owner))
    await history.remove_robot("acme", "writer", up_to_rev=2)
    await history.remove_robot("a_b", "c", up_to_rev=2)
    left = [*await known(history), *await known(history, "a_b", "c"), *await known(history, "a", "b_c")]
    assert left == ["e2", "e4"]
    assert [run for run in ("e1", "e2", "e3", "e4") if await history.decision(run)] == ["e2", "e4"]
