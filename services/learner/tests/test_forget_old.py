"""What is kept no longer, and when it goes; the stores are dictionaries, the clock is the test's."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client import REGISTRY

from learner.adapters.in_memory import InMemoryHistory, InMemoryKnowledge, InMemoryLessons, InMemoryRobots
from learner.domain import RunLessons
from learner.forget_old import ForgetOld
from learner.history import GoalsDecision, PastRun, proceed
from rota_common.errors import Transient
from rota_contracts.messages.learning import Lesson, LessonType
from rota_contracts.robots.robot import Robot

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAY, MOMENT = timedelta(days=1), timedelta(milliseconds=1)


class House:
    """The use case over dictionaries; `now` is the time."""

    def __init__(self) -> None:
        self.now = NOON
        self.lessons, self.history, self.knowledge, self.robots = (
            InMemoryLessons(),
            InMemoryHistory(),
            InMemoryKnowledge(),
            InMemoryRobots(),
        )
        self.sweep = ForgetOld(self.lessons, self.history, self.knowledge, self.robots, lambda: self.now)

    def robot(self, keep: int, member: str = "leads", *, deleted: bool = False) -> None:
        config = {"identity": {"role": "x"}, "learn": {"keep": keep}}
        given = {"team_id": "acme", "member_id": member, "deleted": deleted, "robot_config": config}
        self.robots.robots["acme", member] = Robot.model_validate(given)

    async def ran(self, run: str, *, days: float = 0, member: str = "leads") -> None:
        """A run `days` before noon: its lesson, here and in the memory, its history, what was decided on its goals."""
        at = NOON - days * DAY
        lesson = Lesson(id=run, type=LessonType.INSIGHT, content="x", execution_id=run, learnt_at=at)
        await self.lessons.save(RunLessons(run, "acme", member, 1, at, (lesson,)))
        await self.knowledge.remember("acme", member, [lesson])
        await self.history.add(PastRun(run, "acme", member, 1, "goals", "clock", "completed", "", at))
        await self.history.decide(GoalsDecision(run, "acme", member, 1, proceed(""), at))

    async def left(self, *runs: str) -> dict[str, int]:
        """Of these runs, in how many places something is still kept."""
        long_ago = NOON - 10_000 * DAY
        past_run = [
            run
            for member in ("leads", "other")
            for run in await self.history.completed("acme", member, since=long_ago, limit=100)
        ]
        kept = {run.execution_id for run in past_run}
        return {
            run: sum(
                [
                    await self.lessons.find(run) is not None,
                    run in self.knowledge.kept,
                    run in kept,
                    await self.history.decided(run) is not None,
                ]
            )
            for run in runs
        }


def counted() -> list[float]:
    kinds = ("lessons", "knowledge", "history")
    return [REGISTRY.get_sample_value("rota_forgotten_total", {"kind": kind}) or 0 for kind in kinds]


@pytest.fixture
def house() -> House:
    return House()


async def test_what_is_older_than_the_robot_keeps_is_removed_everywhere(house: House) -> None:  # LE-06
    house.robot(7)
    await house.ran("old", days=7.1)
    await house.ran("young", days=6.9)
    before = counted()
    await house.sweep()
    assert await house.left("old", "young") == {"old": 0, "young": 4}
    assert [now - then for now, then in zip(counted(), before, strict=True)] == [1, 1, 2]
    await house.sweep()
    assert [now - then for now, then in zip(counted(), before, strict=True)] == [1, 1, 2]


async def test_it_goes_to_the_instant(house: House) -> None:
    house.robot(7)
    await house.ran("e1", days=7)
    await house.sweep()
    assert await house.left("e1") == {"e1": 4}
    house.now += MOMENT
    await house.sweep()
    assert await house.left("e1") == {"e1": 0}


async def test_the_definition_as_it_is_now_holds(house: House) -> None:  # LE-06
    await house.ran("e1", days=20)
    await house.ran("e2", days=50)
    await house.ran("e3", days=100)
    for keep, left in ((0, [4, 4, 4]), (90, [4, 4, 0]), (100, [4, 4, 0]), (30, [4, 0, 0]), (1, [0, 0, 0])):
        house.robot(keep)
        await house.sweep()
        assert [*(await house.left("e1", "e2", "e3")).values()] == left, keep


@pytest.mark.parametrize("keep", [0, 10**12])
async def test_for_ever_is_for_ever(house: House, keep: int) -> None:  # LE-03
    house.robot(keep)
    await house.ran("e1", days=9000)
    await house.sweep()
    assert await house.left("e1") == {"e1": 4}


async def test_each_robot_keeps_as_long_as_it_says_itself(house: House) -> None:
    house.robot(1)
    house.robot(0, "other")
    await house.ran("e1", days=5)
    await house.ran("e2", days=5, member="other")
    await house.ran("e3", days=5, member="unheard-of")
    await house.sweep()
    assert await house.left("e1", "e2") == {"e1": 0, "e2": 4}
    assert await house.lessons.find("e3") is not None


async def test_a_deleted_robot_is_left_to_its_own_end(house: House) -> None:  # LE-07
    house.robot(1, deleted=True)
    await house.ran("e1", days=5)
    await house.sweep()
    assert await house.left("e1") == {"e1": 4}


async def test_while_the_memory_is_away_its_lessons_stay_here_and_others_go_on(house: House) -> None:
    class Away(InMemoryKnowledge):
        away = True

        async def forget(self, team: str, member: str, **given: Any) -> int:
            if self.away and member == "leads":
                raise Transient("memory isn't there")
            return await super().forget(team, member, **given)

    house.knowledge = away = Away()
    house.sweep = ForgetOld(house.lessons, house.history, away, house.robots, lambda: house.now)
    for run, member in (("e1", "leads"), ("e2", "other")):
        house.robot(1, member)
        await house.ran(run, days=5, member=member)
    await house.sweep()
    assert await house.left("e1", "e2") == {"e1": 2, "e2": 0}
    away.away = False
    await house.sweep()
    assert await house.left("e1") == {"e1": 0}
