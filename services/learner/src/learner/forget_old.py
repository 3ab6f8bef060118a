"""What a robot's runs taught, and what is kept of them, ends after `learn.keep` days (LE-06)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime

from pydantic import ValidationError

from learner.domain import SHORTEST_KEEP, AgedRobot
from learner.ports import History, Knowledge, Lessons, Robots
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_common.runtime import metrics
from rota_common.runtime.logs import logger

Forgetting = Callable[[AgedRobot, datetime], Awaitable[None]]


class ForgetOld:
    """The robot's definition as it is now holds, also for what was learnt under another. Two replicas that do this at
    once remove the same."""

    def __init__(self, lessons: Lessons, history: History, knowledge: Knowledge, robots: Robots, clock: Clock) -> None:
        self._lessons, self._history, self._knowledge = lessons, history, knowledge
        self._robots, self._clock = robots, clock

    async def __call__(self) -> None:
        now = self._clock()
        await self._each(self._lessons.aged(now - SHORTEST_KEEP), self._forget_lessons, now)
        await self._each(self._history.aged(now - SHORTEST_KEEP), self._forget_history, now)

    async def _each(self, found: AsyncIterator[AgedRobot], forget: Forgetting, now: datetime) -> None:
        async for aged in found:
            try:
                since = await self._kept_since(aged, now)
                if since is not None and aged.oldest < since:
                    await forget(aged, since)
            except (Transient, Permanent, ValidationError) as error:  # one robot's trouble isn't the others'
                log = logger(service="learner", team_id=aged.team, member_id=aged.member)
                log.warning("can't forget", reason=repr(error))

    async def _kept_since(self, aged: AgedRobot, now: datetime) -> datetime | None:
        """None if all is kept; a deleted robot's end removes all in a way of its own."""
        robot = await self._robots.find(aged.team, aged.member)
        return None if robot is None or robot.deleted else robot.robot_config.learn.kept_since(now)

    async def _forget_lessons(self, aged: AgedRobot, since: datetime) -> None:
        """The memory first: as long as lessons are here, they are looked at again."""
        _count("knowledge", await self._knowledge.forget(aged.team, aged.member, before=since))
        _count("lessons", await self._lessons.remove_before(aged.team, aged.member, since))

    async def _forget_history(self, aged: AgedRobot, since: datetime) -> None:
        _count("history", await self._history.remove_before(aged.team, aged.member, since))


def repeating(forget_old: ForgetOld, *, interval: float) -> Callable[[], Awaitable[None]]:
    """At once, then `interval` seconds after each end."""

    async def loop() -> None:
        while True:
            await forget_old()
            await asyncio.sleep(interval)

    return loop


def _count(kind: str, removed: int) -> None:
    metrics.FORGOTTEN.labels(kind).inc(removed)
