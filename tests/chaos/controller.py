"""Kills, one at a time: what was killed least comes first, at the step that was hit least; chance decides the rest."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from time import monotonic

from tests.chaos.fault_points import BUSY, KINDS, QUIET, Kind
from tests.chaos.scoreboard import Book
from tests.chaos.sender import Sender
from tests.chaos.system import System
from tests.chaos.trap import Ambush, Signals

FEW = 2
LOOK_S = 0.05


@dataclass(frozen=True)
class Pace:
    """Seconds: how long to lie in wait for a step, how long to wait for the end of the execution that was hit, and how
    long the system gets between two kills. `rush`: the share of kills that doesn't wait for that end, so that the next
    one falls into the recovery. `services_first`: every service once before every step once."""

    patience: float
    recovery: float
    pause: tuple[float, float]
    rush: float
    services_first: bool


@dataclass(frozen=True)
class Kill:
    """`leads` are the executions whose end is the recovery: the one that was hit, or of a server, all in flight."""

    kind: Kind
    at: float
    leads: tuple[str, ...]


class Controller:
    def __init__(
        self,
        system: System,
        sender: Sender,
        book: Book,
        signals: Signals,
        *,
        pace: Pace,
        in_flight: int,
        random: Random,
    ) -> None:
        self._system, self._sender, self._book, self._signals = system, sender, book, signals
        self._pace, self._in_flight, self._random = pace, in_flight, random
        self.kills: list[Kill] = []
        self.last_at = monotonic()
        self._tried: Counter[Kind] = Counter()

    @property
    def missing(self) -> list[Kind]:
        """Kinds that were never killed."""
        done = {kill.kind for kill in self.kills}
        return [kind for kind in KINDS if kind not in done]

    @property
    def unharmed(self) -> set[str]:
        """Services and servers that were never killed."""
        return {kind.victim for kind in KINDS} - {kill.kind.victim for kill in self.kills}

    async def run(self, wanted: Callable[[], bool]) -> None:
        """Kill for as long as it is `wanted`."""
        while wanted():
            kill = await self._one(self._choose())
            if kill is not None:
                self.kills.append(kill)
                self.last_at = kill.at
                await self._system.revive(kill.kind.victim)
                if self._random.random() >= self._pace.rush:
                    await self._recovered(kill)
            await asyncio.sleep(self._random.uniform(*self._pace.pause))

    def _choose(self) -> Kind:
        victims = Counter(kill.kind.victim for kill in self.kills)
        kinds = Counter(kill.kind for kill in self.kills)

        def order(kind: Kind) -> tuple[int, int, float]:
            first = victims[kind.victim] if self._pace.services_first else 0
            return first, max(kinds[kind], self._tried[kind]), self._random.random()

        kind = min(KINDS, key=order)
        self._tried[kind] += 1
        return kind

    async def _one(self, kind: Kind) -> Kill | None:
        """None if nobody came to that step in time."""
        if kind.step in (QUIET, BUSY):
            return await self._server(kind)
        inside = self._random.random() < 0.6
        delay = self._random.choice((0.0, 0.0, self._random.uniform(0, 0.02)))
        ambush = Ambush(kind.step, lambda: self._system.slay(kind.victim), delay=delay, inside=inside)
        blow = await self._signals.struck(ambush, timeout=self._pace.patience)
        if blow is None:
            return None
        return Kill(kind, blow.at, (blow.lead,) if blow.lead else ())

    async def _server(self, kind: Kind) -> Kill:
        deadline = monotonic() + self._pace.patience
        if kind.step == QUIET:
            self._sender.may_post.clear()
        try:
            while monotonic() < deadline and not self._as_wanted(kind.step):
                await asyncio.sleep(LOOK_S)
            await asyncio.sleep(self._random.uniform(0, 0.3))
            leads = tuple(entry.lead for entry in self._book.in_flight())
            self._system.slay(kind.victim)
        finally:
            self._sender.may_post.set()
        return Kill(kind, monotonic(), leads)

    def _as_wanted(self, step: str) -> bool:
        count = len(self._book.in_flight())
        return count <= FEW if step == QUIET else count >= self._in_flight * 2 // 3

    async def _recovered(self, kill: Kill) -> None:
        over = [self._book.entries[lead].over.wait() for lead in kill.leads]
        try:
            await asyncio.wait_for(asyncio.gather(*over), self._pace.recovery)
        except TimeoutError:
            return
