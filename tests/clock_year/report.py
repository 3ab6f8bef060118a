"""What came of it: findings in words, and the figures as one line of JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from tests.clock_year.daemons import Daemons
from tests.clock_year.scoreboard import Book
from tests.clock_year.script import YEAR

LEAST_DUE, LEAST_KILLS = 100_000, 100
SHOWN = 15


@dataclass(frozen=True)
class Figures:
    """`wrong_next`: robots that wait for another instant than the oracle says, at the end."""

    book: Book
    daemons: Daemons
    wrong_next: list[str]
    kills: int
    days: int
    seed: int
    steps: int
    seconds: float

    @property
    def json(self) -> dict[str, Any]:
        book = self.book
        return {
            "due": book.due,
            "fired": book.fired_count,
            "missed": book.lost,
            "doubled": book.doubled,
            "kills": self.kills,
            "skipped_by_policy": book.skipped,
            "made_known": book.made_known,
            "repeated": book.repeated,
            "wrong_next_run": len(self.wrong_next),
            "daemon_runs": self.daemons.runs.total(),
            "daemon_violations": len(self.daemons.violations),
            "days": self.days,
            "seed": self.seed,
            "steps": self.steps,
            "seconds": round(self.seconds, 1),
        }

    def failures(self) -> list[str]:
        """Why this isn't good; empty if it is. What a year must have, a shorter run must have its share of."""
        book, share = self.book, min(self.days / YEAR, 1)
        due, kills = floor(LEAST_DUE * share), ceil(LEAST_KILLS * share)
        rules = {
            f"{book.due} runs were due and {book.fired_count} fired": book.due != book.fired_count,
            f"{book.lost} runs were missed": book.lost > 0,
            f"{book.doubled} runs were doubled": book.doubled > 0,
            f"only {book.due} runs were due, of the {due} wanted": book.due < due,
            f"only {self.kills} kills, of the {kills} wanted": self.kills < kills,
            f"{book.skipped} runs were skipped by policy and {book.made_known} made known": book.skipped
            != book.made_known,
            f"{len(self.daemons.violations)} times a daemon did what it must not": bool(self.daemons.violations),
            f"{len(self.wrong_next)} robots wait for the wrong instant": bool(self.wrong_next),
            f"{len(book.notes)} other findings": bool(book.notes),
        }
        return [rule for rule, broken in rules.items() if broken]

    def findings(self) -> Iterator[str]:
        """In words, the worst first."""
        for title, lines in (
            ("not come", list(self.book.open())),
            ("findings", self.book.notes),
            ("daemons", self.daemons.violations),
            ("next runs", self.wrong_next),
        ):
            if lines:
                yield f"{title}: {len(lines)}"
                yield from (f"  {line}" for line in lines[:SHOWN])
        if self.days < YEAR:
            yield f"a short run: {self.days} of {YEAR} days, so due and kills need only their share"
        yield from (f"FAILED: {reason}" for reason in self.failures())
