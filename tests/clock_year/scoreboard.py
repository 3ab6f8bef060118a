"""The scoreboard: each due run fires once, and each missed run is reported exactly once."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from tests.clock_year.oracle import Run, Verdict

NOTES = 200
"""The number of findings kept as text; the figures count them all."""


class Scoreboard:
    """`due`, `fired`, `doubled` and so on are counts; `notes` describe the errors."""

    def __init__(self) -> None:
        self._fired: dict[Run, str] = {}
        self._expected: set[Run] = set()
        self._open: set[Run] = set()
        self._unknown: set[Run] = set()
        self._given_up: set[Run] = set()
        self._skipped: defaultdict[str, set[datetime]] = defaultdict(set)
        self._facts: set[str] = set()
        self._change = asyncio.Event()
        self.doubled = self.repeated = self.reported_missed = self.skipped = 0
        self.notes: list[str] = []

    def expect(self, verdict: Verdict) -> None:
        """These runs are due now; the skipped ones must be reported."""
        self._expected.update(verdict.fires)
        self._open.update(verdict.fires)
        self._unknown.update(verdict.skipped)
        self.skipped += len(verdict.skipped)
        for member, instant in verdict.skipped:
            self._skipped[member].add(instant)

    def fired(self, run: Run, execution_id: str) -> None:
        """An execution was requested. The same one again is at-least-once delivery; a second one is a doubled run."""
        before = self._fired.get(run)
        if before == execution_id:
            self.repeated += 1
            return
        if before is not None or run not in self._expected:
            self.doubled += 1
            why = "a second time" if before is not None else "though it isn't due"
            self.note(f"{run[0]} runs {why}, scheduled at {run[1]:%a %d %b %H:%M:%S}")
        if before is None:
            self._fired[run] = execution_id
        self._open.discard(run)
        self._change.set()

    def missed(self, fact_id: str, member: str, first: datetime, last: datetime, count: int) -> None:
        """A fact that these runs of a robot are not made up for."""
        if fact_id in self._facts:
            return
        self._facts.add(fact_id)
        self.reported_missed += count
        meant = {instant for instant in self._skipped[member] if first <= instant <= last}
        if len(meant) != count or not {first, last} <= meant:
            self.note(f"{member}: {count} reported from {first} to {last}, but {len(meant)} were skipped then")
        self._unknown.difference_update((member, instant) for instant in meant)
        self._change.set()

    async def complete(self, timeout: float) -> bool:
        """Wait until all that is due has fired, apart from what was given up; False if it hasn't after `timeout` s."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self._awaited():
                    self._change.clear()
                    await self._change.wait()
        return not self._awaited()

    def give_up(self) -> list[str]:
        """Stop waiting for the open runs; they stay lost unless they fire later. Returns their descriptions."""
        awaited = self._awaited()
        self._given_up |= awaited
        return [line for run, line in self._missing() if run in awaited]

    def _awaited(self) -> set[Run]:
        return (self._open | self._unknown) - self._given_up

    def note(self, text: str) -> None:
        if len(self.notes) < NOTES:
            self.notes.append(text)

    def open(self) -> Iterable[str]:
        """Descriptions of the open runs."""
        yield from (line for _, line in self._missing())

    def _missing(self) -> Iterator[tuple[Run, str]]:
        for member, at in sorted(self._open):
            yield (member, at), f"{member} should run, scheduled at {at:%a %d %b %H:%M:%S}"
        for member, at in sorted(self._unknown):
            yield (member, at), f"{member}: no report that it missed {at:%a %d %b %H:%M:%S}"

    @property
    def due(self) -> int:
        return len(self._expected)

    @property
    def fired_count(self) -> int:
        return len(self._fired)

    @property
    def lost(self) -> int:
        return len(self._open)
