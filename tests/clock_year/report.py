"""The report: findings, and the figures as one line of JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from tests.clock_year.daemons import Daemons
from tests.clock_year.scoreboard import Scoreboard
from tests.clock_year.script import YEAR

LEAST_DUE, LEAST_KILLS = 100_000, 100
SHOWN = 15


@dataclass(frozen=True)
class Figures:
    """`wrong_next`: robots whose next run at the end isn't the oracle's."""

    scoreboard: Scoreboard
    daemons: Daemons
    wrong_next: list[str]
    kills: int
    days: int
    seed: int
    steps: int
    seconds: float

    @property
    def json(self) -> dict[str, Any]:
        scoreboard = self.scoreboard
        return {
            "due": scoreboard.due,
            "fired": scoreboard.fired_count,
            "missed": scoreboard.lost,
            "doubled": scoreboard.doubled,
            "kills": self.kills,
            "skipped_by_policy": scoreboard.skipped,
            "made_known": scoreboard.reported_missed,
            "repeated": scoreboard.repeated,
            "wrong_next_run": len(self.wrong_next),
            "daemon_runs": self.daemons.runs.total(),
            "daemon_violations": len(self.daemons.violations),
            "days": self.days,
            "seed": self.seed,
            "steps": self.steps,
            "seconds": round(self.seconds, 1),
        }

    def failures(self) -> list[str]:
        """The reasons for a failure; empty after a success. A short run needs its share of runs and kills."""
        scoreboard, share = self.scoreboard, min(self.days / YEAR, 1)
        due, kills = floor(LEAST_DUE * share), ceil(LEAST_KILLS * share)
        reported = scoreboard.reported_missed
        rules = {
            f"{scoreboard.due} runs were due and {scoreboard.fired_count} fired": scoreboard.due
            != scoreboard.fired_count,
            f"{scoreboard.lost} runs were missed": scoreboard.lost > 0,
            f"{scoreboard.doubled} runs were doubled": scoreboard.doubled > 0,
            f"only {scoreboard.due} runs were due, of the {due} wanted": scoreboard.due < due,
            f"only {self.kills} kills, of the {kills} wanted": self.kills < kills,
            f"{scoreboard.skipped} runs were skipped by policy and {reported} reported": scoreboard.skipped != reported,
            f"{len(self.daemons.violations)} violations by daemons": bool(self.daemons.violations),
            f"{len(self.wrong_next)} robots have a wrong next run": bool(self.wrong_next),
            f"{len(scoreboard.notes)} other findings": bool(scoreboard.notes),
        }
        return [rule for rule, broken in rules.items() if broken]

    def findings(self) -> Iterator[str]:
        """The worst first."""
        for title, lines in (
            ("missed runs", list(self.scoreboard.open())),
            ("findings", self.scoreboard.notes),
            ("daemons", self.daemons.violations),
            ("next runs", self.wrong_next),
        ):
            if lines:
                yield f"{title}: {len(lines)}"
                yield from (f"  {line}" for line in lines[:SHOWN])
        if self.days < YEAR:
            yield f"a short run: {self.days} of {YEAR} days, so due and kills need only their share"
        yield from (f"FAILED: {reason}" for reason in self.failures())
