"""Retention: lessons and history end after the robot's `learn.keep` days."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError

from learner.domain import SHORTEST_KEEP, AgedRobot
from learner.ports import History, Knowledge, Lessons, Robots
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_common.runtime import metrics
from rota_common.runtime.logs import logger

Forget = Callable[[AgedRobot, datetime], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class ForgetOld:
    """Goes by the robot's current definition, also for lessons of an earlier one. Two replicas may run it at once: both
    remove the same."""

    lessons: Lessons
    history: History
    knowledge: Knowledge
    robots: Robots
    clock: Clock

    async def __call__(self) -> None:
        now = self.clock()
        await self._each(self.lessons.aged(now - SHORTEST_KEEP), self._forget_lessons, now)
        await self._each(self.history.aged(now - SHORTEST_KEEP), self._forget_history, now)

    async def _each(self, found: AsyncIterator[AgedRobot], forget: Forget, now: datetime) -> None:
        async for aged in found:
            try:
                since = await self._kept_since(aged, now)
                if since is not None and aged.oldest < since:
                    await forget(aged, since)
            except (Transient, Permanent, ValidationError) as error:  # one robot's failure must not stop the others
                log = logger(service="learner", team_id=aged.team, member_id=aged.member)
                log.warning("can't forget", reason=repr(error))

    async def _kept_since(self, aged: AgedRobot, now: datetime) -> datetime | None:
        """None if all is kept. `ForgetRobot` removes what a deleted robot leaves."""
        robot = await self.robots.find(aged.team, aged.member)
        return None if robot is None or robot.deleted else robot.robot_config.learn.kept_since(now)

    async def _forget_lessons(self, aged: AgedRobot, since: datetime) -> None:
        """The memory first: as long as lessons are here, they are found again."""
        _count("knowledge", await self.knowledge.forget(aged.team, aged.member, before=since))
        _count("lessons", await self.lessons.remove_before(aged.team, aged.member, since))

    async def _forget_history(self, aged: AgedRobot, since: datetime) -> None:
        _count("history", await self.history.remove_before(aged.team, aged.member, since))


def _count(kind: str, removed: int) -> None:
    metrics.FORGOTTEN.labels(kind).inc(removed)
