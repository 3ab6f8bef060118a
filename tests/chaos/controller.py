"""The controller of the faults, one at a time: the victim hit least, at the step hit least; chance decides
the rest."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from time import monotonic

from nats.errors import Error as NatsError
from pymongo.errors import PyMongoError

from tests.chaos.fault_points import LASTING, PARTITIONS, QUIET, FaultPoint
from tests.chaos.scoreboard import Scoreboard
from tests.chaos.sender import Sender
from tests.chaos.system import System
from tests.chaos.trap import Trap, Traps

FEW = 2
LOOK_S = 0.05
SHORT_S, LONG_S = (1.0, 4.0), (12.0, 18.0)
"""What lasts is shorter than every lease, or longer than the leases of an execution and of a message."""


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
    """A kill, or a fault that lasts, which is over `at` its time. `leads` are the executions whose end is the recovery:
    the one that was hit, or of a server and a partition, all in flight."""

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
        """Fault points that were not hit as often as they must be."""
        done = Counter(kill.point for kill in self.kills)
        return [point for point in self._points if done[point] < point.times]

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

        missing = set(self.missing)

        def order(point: FaultPoint) -> tuple[int, bool, int, float]:
            first = victims[point.victim] if self._pace.services_first else 0
            return first, point not in missing, max(points[point], self._tried[point]), self._random.random()

        point = min(self._points, key=order)
        self._tried[point] += 1
        return point

    async def _one(self, point: FaultPoint) -> Kill | None:
        """None if no execution reached that step in time, or the servers are not as they must be for it."""
        if point.kind in LASTING:
            return await self._lasting(point)
        if not self._system.is_service(point.victim):
            return await self._server(point)
        inside = self._random.random() < 0.6
        delay = self._random.choice((0.0, 0.0, self._random.uniform(0, 0.02)))
        trap = Trap(point.step, lambda: self._system.kill(point.victim), delay=delay, inside=inside)
        hit = await self._traps.catch(trap, timeout=self._pace.patience)
        if hit is None:
            return None
        return Kill(point, hit.at, (hit.lead,) if hit.lead else ())

    async def _lasting(self, point: FaultPoint) -> Kill | None:
        """Packets are lost or connections break, a primary steps down, a stream is full: for a time."""
        reset, seconds = self._random.random() < 0.5, self._random.uniform(*self._random.choice((SHORT_S, LONG_S)))
        async with self._at(point) as leads:
            try:
                await self._system.begin(point, seconds=seconds, reset=reset)
            except (NatsError, PyMongoError, OSError):
                return None
        try:
            await asyncio.sleep(seconds)
        finally:
            await self._system.end(point)
        return Kill(point, monotonic(), leads)

    async def _server(self, point: FaultPoint) -> Kill | None:
        async with self._at(point) as leads:
            try:
                await self._system.kill_server(point)
            except (NatsError, OSError):
                return None
        return Kill(point, monotonic(), leads)

    async def _back(self, point: FaultPoint) -> None:
        if point.kind == PARTITIONS:
            await self._system.processes.ready(point.victim)
        elif point.kind not in LASTING:
            await self._system.restart(point.victim)

    @asynccontextmanager
    async def _at(self, point: FaultPoint) -> AsyncIterator[tuple[str, ...]]:
        """The leads in flight, once they are few or many, as the point wants it; else many."""
        deadline = monotonic() + self._pace.patience
        if point.step == QUIET:
            self._sender.may_post.clear()
        try:
            while monotonic() < deadline and not self._as_wanted(point.step):
                await asyncio.sleep(LOOK_S)
            await asyncio.sleep(self._random.uniform(0, 0.3))
            yield tuple(entry.lead for entry in self._scoreboard.in_flight())
        finally:
            self._sender.may_post.set()

    def _as_wanted(self, step: str) -> bool:
        count = len(self._scoreboard.in_flight())
        return count <= FEW if step == QUIET else count >= self._in_flight * 2 // 3

    async def _recovered(self, kill: Kill) -> None:
        over = [self._scoreboard.entries[lead].over.wait() for lead in kill.leads]
        try:
            await asyncio.wait_for(asyncio.gather(*over), self._pace.recovery)
        except TimeoutError:
            return
