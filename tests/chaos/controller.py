"""The controller of kills and partitions, one at a time: the victim hit least, at the step hit least; chance decides
the rest."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from time import monotonic

from tests.chaos.fault_points import BUSY, PARTITIONS, QUIET, FaultPoint
from tests.chaos.scoreboard import Scoreboard
from tests.chaos.sender import Sender
from tests.chaos.system import System
from tests.chaos.trap import Trap, Traps

FEW = 2
LOOK_S = 0.05
SHORT_CUT_S, LONG_CUT_S = (1.0, 4.0), (12.0, 18.0)
"""A partition is shorter than every lease, or longer than the leases of an execution and of a message."""


@dataclass(frozen=True)
class Pace:
    """Seconds: `patience` for a step to be reached, `recovery` for the end of the execution that was hit, `pause`
    between two kills. `rush`: the share of kills that doesn't wait for that end, so that the next one falls into the
    recovery. `services_first`: every service once before every step once."""

    patience: float
    recovery: float
    pause: tuple[float, float]
    rush: float
    services_first: bool


@dataclass(frozen=True)
class Kill:
    """A kill, or a partition, which is over `at` its time. `leads` are the executions whose end is the recovery: the
    one that was hit, or of a server and a partition, all in flight."""

    point: FaultPoint
    at: float
    leads: tuple[str, ...]


class Controller:
    def __init__(
        self,
        system: System,
        sender: Sender,
        scoreboard: Scoreboard,
        traps: Traps,
        *,
        points: Sequence[FaultPoint],
        pace: Pace,
        in_flight: int,
        random: Random,
    ) -> None:
        self._points = points
        self._system, self._sender = system, sender
        self._scoreboard, self._traps = scoreboard, traps
        self._pace, self._in_flight = pace, in_flight
        self._random = random
        self.kills: list[Kill] = []
        self.last_at = monotonic()
        self._tried: Counter[FaultPoint] = Counter()

    @property
    def missing(self) -> list[FaultPoint]:
        """Fault points that were never hit."""
        done = {kill.point for kill in self.kills}
        return [point for point in self._points if point not in done]

    @property
    def never_killed(self) -> set[str]:
        """Services and servers that were never killed."""
        return {point.victim for point in self._points} - {kill.point.victim for kill in self.kills}

    async def run(self, wanted: Callable[[], bool]) -> None:
        """Kill and cut for as long as it is `wanted`."""
        while self._points and wanted():
            kill = await self._one(self._choose())
            if kill is not None:
                self.kills.append(kill)
                self.last_at = kill.at
                await self._back(kill.point)
                if self._random.random() >= self._pace.rush:
                    await self._recovered(kill)
            await asyncio.sleep(self._random.uniform(*self._pace.pause))

    def _choose(self) -> FaultPoint:
        victims = Counter(kill.point.victim for kill in self.kills)
        points = Counter(kill.point for kill in self.kills)

        def order(point: FaultPoint) -> tuple[int, int, float]:
            first = victims[point.victim] if self._pace.services_first else 0
            return first, max(points[point], self._tried[point]), self._random.random()

        point = min(self._points, key=order)
        self._tried[point] += 1
        return point

    async def _one(self, point: FaultPoint) -> Kill | None:
        """None if no execution reached that step in time."""
        if point.kind == PARTITIONS:
            return await self._partition(point)
        if point.step in (QUIET, BUSY):
            return await self._server(point)
        inside = self._random.random() < 0.6
        delay = self._random.choice((0.0, 0.0, self._random.uniform(0, 0.02)))
        trap = Trap(point.step, lambda: self._system.kill(point.victim), delay=delay, inside=inside)
        hit = await self._traps.catch(trap, timeout=self._pace.patience)
        if hit is None:
            return None
        return Kill(point, hit.at, (hit.lead,) if hit.lead else ())

    async def _partition(self, point: FaultPoint) -> Kill:
        """Packets are lost, or connections break, while many executions are in flight."""
        deadline = monotonic() + self._pace.patience
        while monotonic() < deadline and not self._as_wanted(BUSY):
            await asyncio.sleep(LOOK_S)
        leads = tuple(entry.lead for entry in self._scoreboard.in_flight())
        self._system.cut(point, reset=self._random.random() < 0.5)
        try:
            await asyncio.sleep(self._random.uniform(*self._random.choice((SHORT_CUT_S, LONG_CUT_S))))
        finally:
            self._system.heal(point)
        return Kill(point, monotonic(), leads)

    async def _back(self, point: FaultPoint) -> None:
        if point.kind == PARTITIONS:
            await self._system.processes.ready(point.victim)
        else:
            await self._system.restart(point.victim)

    async def _server(self, point: FaultPoint) -> Kill:
        deadline = monotonic() + self._pace.patience
        if point.step == QUIET:
            self._sender.may_post.clear()
        try:
            while monotonic() < deadline and not self._as_wanted(point.step):
                await asyncio.sleep(LOOK_S)
            await asyncio.sleep(self._random.uniform(0, 0.3))
            leads = tuple(entry.lead for entry in self._scoreboard.in_flight())
            self._system.kill(point.victim)
        finally:
            self._sender.may_post.set()
        return Kill(point, monotonic(), leads)

    def _as_wanted(self, step: str) -> bool:
        count = len(self._scoreboard.in_flight())
        return count <= FEW if step == QUIET else count >= self._in_flight * 2 // 3

    async def _recovered(self, kill: Kill) -> None:
        over = [self._scoreboard.entries[lead].over.wait() for lead in kill.leads]
        try:
            await asyncio.wait_for(asyncio.gather(*over), self._pace.recovery)
        except TimeoutError:
            return
