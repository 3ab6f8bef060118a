"""How robots stand (TG-18, TG-22): put together from what is known of them when somebody asks."""

import contextlib
from datetime import datetime
from itertools import islice

from rota_common.clock import Clock
from rota_contracts.messages.robot_state import ReadRobots, RobotsReply, RobotState
from rota_contracts.robots.recurrence import due_instants, in_words
from rota_contracts.robots.robot import RobotStatus
from scheduler.clock_store import Clocks
from scheduler.clocks import ClockState
from scheduler.ports import Robots, Standing, Standings
from scheduler.robot_summary import Card, Key


class ReadStates:
    def __init__(self, robots: Robots, clocks: Clocks, standings: Standings, clock: Clock) -> None:
        self._robots, self._clocks, self._standings, self._clock = robots, clocks, standings, clock

    async def __call__(self, question: ReadRobots) -> RobotsReply:
        """Those that there are, in the order of the question."""
        keys = [(question.team_id, member) for member in dict.fromkeys(question.member_ids)]
        cards = {key: card for key in keys if (card := await self._card(key)) and not card.deleted}
        clocks, standings = await self._clocks.find(list(cards)), await self._standings.read(list(cards))
        return RobotsReply(
            robots=[self._state(cards[key], clocks.get(key), standings[key], question.upcoming) for key in cards]
        )

    async def _card(self, key: Key) -> Card | None:
        """A definition that can't be read keeps nobody from hearing of the others."""
        with contextlib.suppress(ValueError):
            return await self._robots.find(*key)
        return None

    def _state(self, card: Card, clock: ClockState | None, standing: Standing, upcoming: int) -> RobotState:
        next_run = clock.next_run if clock else None
        return RobotState(
            team_id=card.team,
            member_id=card.member,
            status=_status(card, standing),
            active=card.active,
            last_run=standing.last_run,
            last_status=standing.last_status,
            next_run=next_run,
            clock=in_words(clock.clock) if clock else "",
            running=len(standing.running),
            max_running=card.quota.max,
            running_ids=list(standing.running),
            queued=standing.queued,
            max_queued=card.quota.queue,
            parked=standing.parked,
            error=card.failure,
            upcoming=[] if clock is None or next_run is None else self._upcoming(clock, upcoming),
        )

    def _upcoming(self, clock: ClockState, count: int) -> list[datetime]:
        """What is late and not yet made up for isn't told: it is about to be."""
        later = due_instants(clock.clock, self._clock(), anchor=clock.anchor)
        return list(islice(later, count))


def _status(card: Card, standing: Standing) -> RobotStatus:
    if card.failure is not None:
        return RobotStatus.ERROR
    return RobotStatus.WORKING if standing.running else card.status
