"""The learner's fake store keeps the same promises as the real one."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from learner.adapters.fakes import DictLessons
from learner.adapters.mongo_lessons import MongoLessons
from learner.domain import Learnt
from learner.ports import Lessons
from rota_common.mongo import Mongo
from rota_contracts.learning import Lesson, LessonType

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
