"""The invariants of daemons, the robots that run again and again; the number of their runs isn't checked."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

FLOOR, CEILING = timedelta(seconds=1), timedelta(minutes=15)
"""The shortest pause between two runs, and the longest, after many failures."""

PROMPT = timedelta(minutes=1)
"""After a completed run, the next is scheduled within this time."""

END_CHANCE, FAIL_CHANCE, UNREPORTED_CHANCE = 0.7, 0.3, 0.02


@dataclass
class Watched:
    """A daemon: its current run (the trigger's id), or when the last one ended, and its consecutive failures."""

    run: str | None = None
    ended_at: datetime | None = None
    failures: int = 0
    seen: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class End:
    """The end of a daemon's run. Not `reported`: the report is lost, and the scheduler has to ask."""

    member: str
    run: str
    well: bool
    reported: bool


class Daemons:
    """Never two runs at once; a pause of at least the floor; no stall. `violations` names each breach."""

    def __init__(self, members: Iterable[str], random: Random) -> None:
        self._watched = {member: Watched() for member in members}
        self._random, self._change = random, asyncio.Event()
        self.runs: Counter[str] = Counter()
        self.violations: list[str] = []

    def __contains__(self, member: str) -> bool:
        return member in self._watched

    def requested(self, member: str, run: str, scheduled_at: datetime, now: datetime) -> None:
        """A run begins; a repeated request changes nothing."""
        watched = self._watched[member]
        if run in watched.seen:
            return
        watched.seen.add(run)
        self.runs[member] += 1
        if watched.run is not None:
            self._violation(f"{member} runs twice at once, at {now}")
        if watched.ended_at is not None:
            pause = scheduled_at - watched.ended_at
            longest = PROMPT if not watched.failures else CEILING + PROMPT
            if pause < FLOOR or now - watched.ended_at < FLOOR:
                self._violation(f"{member} pauses for {min(pause, now - watched.ended_at)} only, at {now}")
            elif pause > longest:
                self._violation(f"{member} pauses for {pause} after {watched.failures} failures, at {now}")
        watched.run = run
        self._change.set()

    def ends(self, now: datetime) -> list[End]:
        """Some runs end now."""
        ended = []
        for member, watched in self._watched.items():
            if watched.run is None or self._random.random() >= END_CHANCE:
                continue
            well = self._random.random() >= FAIL_CHANCE
            ended.append(End(member, watched.run, well, reported=self._random.random() >= UNREPORTED_CHANCE))
            watched.failures = 0 if well else watched.failures + 1
            watched.run, watched.ended_at = None, now
        return ended

    async def all_run(self, now: datetime, timeout: float) -> None:
        """All of them must run by now; waits `timeout` seconds at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self._resting():
                    self._change.clear()
                    await self._change.wait()
        for member in self._resting():
            self._violation(f"{member} has stalled: at {now} it should have begun again")

    def _resting(self) -> list[str]:
        return [member for member, watched in self._watched.items() if watched.run is None]

    def unnoticed(self, members: Iterable[str], now: datetime) -> None:
        """The scheduler did not notice the end of their runs."""
        for member in members:
            self._violation(f"{member}: its run has ended at {now}, and the scheduler hasn't noticed")

    def _violation(self, text: str) -> None:
        self.violations.append(text)
