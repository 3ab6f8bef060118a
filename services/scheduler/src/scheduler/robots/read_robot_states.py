"""The states of robots: status, runs, queue and next run."""

import contextlib
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from rota_common.clock import Clock
from rota_contracts.messages.robot_state import ReadRobots, RobotsReply, RobotState
from rota_contracts.robots.recurrence import due_instants, in_words
from rota_contracts.robots.robot import RobotStatus
from scheduler.domain.clock_state import ClockState
from scheduler.domain.robot_summary import Key, RobotSummary
from scheduler.ports import Clocks, RobotActivity, RobotQueues, Robots


@dataclass(frozen=True, kw_only=True)
class ReadRobotStates:
    robots: Robots
    clocks: Clocks
    robot_queues: RobotQueues
    clock: Clock

    async def __call__(self, question: ReadRobots) -> RobotsReply:
        """Those that exist, in the order of the question."""
        keys = [(question.team_id, member) for member in dict.fromkeys(question.member_ids)]
        summaries = {key: summary for key in keys if (summary := await self._summary(key)) and not summary.deleted}
        clocks = await self.clocks.find(list(summaries))
        activities = await self.robot_queues.read(list(summaries))
        return RobotsReply(
            robots=[
                self._state(summary, clocks.get(key), activities[key], question.upcoming)
                for key, summary in summaries.items()
            ]
        )

    async def _summary(self, key: Key) -> RobotSummary | None:
        """None if its definition is invalid: the other robots are still returned."""
        with contextlib.suppress(ValueError):
            return await self.robots.find(*key)
        return None

    def _state(
        self, summary: RobotSummary, clock: ClockState | None, activity: RobotActivity, upcoming: int
    ) -> RobotState:
        next_run = clock.next_run if clock else None
        return RobotState(
            team_id=summary.team,
            member_id=summary.member,
            status=_status(summary, activity),
            active=summary.active,
            last_run=activity.last_run,
            last_status=activity.last_status,
            next_run=next_run,
            clock=in_words(clock.clock) if clock else "",
            running=len(activity.running),
            max_running=summary.quota.max,
            running_ids=list(activity.running),
            queued=activity.queued,
            max_queued=summary.quota.queue,
            parked=activity.parked,
            error=summary.failure,
            upcoming=[] if clock is None or next_run is None else self._upcoming(clock, upcoming),
        )

    def _upcoming(self, clock: ClockState, count: int) -> list[datetime]:
        """From now on: late runs are about to be made up for."""
        later = due_instants(clock.clock, self.clock(), anchor=clock.anchor)
        return list(islice(later, count))


def _status(summary: RobotSummary, activity: RobotActivity) -> RobotStatus:
    if summary.failure is not None:
        return RobotStatus.ERROR
    if summary.status is RobotStatus.PAUSED:  # what still runs ends its step, and holds
        return RobotStatus.PAUSED
    return RobotStatus.WORKING if activity.running else summary.status
