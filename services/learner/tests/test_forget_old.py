"""Retention: lessons, knowledge and history are removed when the robot no longer keeps them."""

from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import REGISTRY
from services.learner.tests import harness
from services.learner.tests.harness import DAY, NOON

from learner.adapters.in_memory import InMemoryKnowledge
from learner.domain import RunLessons
from learner.history import GoalsDecision, PastRun, proceed
from rota_common.errors import Transient
from rota_contracts.messages.learning import Lesson, LessonType

MOMENT = timedelta(milliseconds=1)


class Learner(harness.Learner):
    """A learner with the lessons, knowledge, history and decision of some runs."""

    async def keep(self, run: str, *, days: float = 0, member: str = "leads") -> None:
        """Keep the documents of a run `days` before noon: a lesson, here and in the memory, its history, a decision."""
        at = NOON - days * DAY
        lesson = Lesson(id=run, type=LessonType.INSIGHT, content="x", execution_id=run, learnt_at=at)
        await self.lessons.save(RunLessons(run, "acme", member, 1, at, (lesson,)))
        await self.knowledge.remember("acme", member, [lesson])
        await self.history.add(PastRun(run, "acme", member, 1, "goals", "clock", "completed", "", at))
        await self.history.save_decision(GoalsDecision(run, "acme", member, 1, proceed(""), at))

    async def left(self, *runs: str) -> dict[str, int]:
        """Run → the number of its documents that are still kept."""
        long_ago = NOON - 10_000 * DAY
        past = [
            run
            for member in ("leads", "other")
            for run in await self.history.completed("acme", member, since=long_ago, limit=100)
        ]
        kept = {run.execution_id for run in past}
        return {
            run: sum(
                [
                    await self.lessons.find(run) is not None,
                    run in self.knowledge.kept,
                    run in kept,
                    await self.history.decision(run) is not None,
                ]
            )
            for run in runs
        }


def counted() -> list[float]:
    kinds = ("lessons", "knowledge", "history")
    return [REGISTRY.get_sample_value("rota_forgotten_total", {"kind": kind}) or 0 for kind in kinds]


@pytest.fixture
def learner() -> Learner:
    return Learner()


async def test_expired_documents_are_removed_everywhere(learner: Learner) -> None:  # LE-06
    learner.robot(keep=7)
    await learner.keep("old", days=7.1)
    await learner.keep("young", days=6.9)
    before = counted()
    await learner.forget_old()
    assert await learner.left("old", "young") == {"old": 0, "young": 4}
    assert [now - then for now, then in zip(counted(), before, strict=True)] == [1, 1, 2]
    await learner.forget_old()
    assert [now - then for now, then in zip(counted(), before, strict=True)] == [1, 1, 2]


async def test_a_document_expires_at_its_instant(learner: Learner) -> None:
    learner.robot(keep=7)
    await learner.keep("e1", days=7)
    await learner.forget_old()
    assert await learner.left("e1") == {"e1": 4}
    learner.now += MOMENT
    await learner.forget_old()
    assert await learner.left("e1") == {"e1": 0}


async def test_the_current_definition_decides(learner: Learner) -> None:  # LE-06
    await learner.keep("e1", days=20)
    await learner.keep("e2", days=50)
    await learner.keep("e3", days=100)
    for keep, left in ((0, [4, 4, 4]), (90, [4, 4, 0]), (100, [4, 4, 0]), (30, [4, 0, 0]), (1, [0, 0, 0])):
        learner.robot(keep=keep)
        await learner.forget_old()
        assert [*(await learner.left("e1", "e2", "e3")).values()] == left, keep


@pytest.mark.parametrize("keep", [0, 10**12])
async def test_a_robot_that_keeps_for_ever_loses_nothing(learner: Learner, keep: int) -> None:  # LE-03
    learner.robot(keep=keep)
    await learner.keep("e1", days=9000)
    await learner.forget_old()
    assert await learner.left("e1") == {"e1": 4}


async def test_each_robot_keeps_as_long_as_its_own_definition(learner: Learner) -> None:
    learner.robot(keep=1)
    learner.robot(member="other", keep=0)
    await learner.keep("e1", days=5)
    await learner.keep("e2", days=5, member="other")
    await learner.keep("e3", days=5, member="unknown")
    await learner.forget_old()
    assert await learner.left("e1", "e2") == {"e1": 0, "e2": 4}
    assert await learner.lessons.find("e3") is not None


async def test_a_deleted_robot_is_left_to_its_deletion(learner: Learner) -> None:  # LE-07
    learner.robot(keep=1, deleted=True)
    await learner.keep("e1", days=5)
    await learner.forget_old()
    assert await learner.left("e1") == {"e1": 4}


async def test_while_the_memory_fails_for_one_robot_its_lessons_stay_and_others_are_removed(learner: Learner) -> None:
    class Away(InMemoryKnowledge):
        away = True

        async def forget(self, team: str, member: str, **given: Any) -> int:
            if self.away and member == "leads":
                raise Transient("memory isn't there")
            return await super().forget(team, member, **given)

    learner.knowledge = away = Away()
    for run, member in (("e1", "leads"), ("e2", "other")):
        learner.robot(member=member, keep=1)
        await learner.keep(run, days=5, member=member)
    await learner.forget_old()
    assert await learner.left("e1", "e2") == {"e1": 2, "e2": 0}
    away.away = False
    await learner.forget_old()
    assert await learner.left("e1") == {"e1": 0}
