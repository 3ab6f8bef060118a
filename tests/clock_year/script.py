"""The script of the year: each replica's clock and its incidents, step by step. The seed chooses where.

One step is one reading of the clock: the next instant at which anything is due. Jumps and outages are readings too:
a clock that jumps ahead by ten minutes shows T - 7 min, then T + 3 min, and what was due at T is noticed late.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from random import Random
from typing import Literal

from tests.clock_year.fleet import DAY, HOUR

REPLICAS = 3
YEAR = 366
JUMP, OUTAGE = timedelta(minutes=10), 3 * HOUR
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
LATENESS = tuple(timedelta(seconds=late) for late in (0, 30, 60, 61, 180, 570))
"""The lateness of an instant after a jump ahead; up to 60 s is on time."""

LEAD = timedelta(seconds=30)
"""A replica leaves due clocks to the one that dispatches for a moment; a clock that is ahead alone is past that."""

OUTAGE_ENDS = tuple(timedelta(seconds=late) for late in (0, 60, 61, 1800))
"""The time between an instant and the end of an outage."""

DAEMONS_REST = 16 * MINUTE
"""Longer than a daemon's longest pause."""

DAEMON_HOUR, DAEMON_EVERY = 12, 3 * DAY
Kind = Literal["ahead", "back", "one ahead", "one behind", "outage"]
PER_YEAR: Mapping[Kind, int] = {"ahead": 30, "back": 30, "one ahead": 20, "one behind": 20, "outage": 5}
BUSY_HOURS = ("Wed 08", "Wed 09")
"""When an outage begins: some robots would run several times during it (`fleet.BUSY`)."""

KILL_STEPS_PER_YEAR, ALL_BUT_ONE = 95, 0.2
"""Steps at which replicas are killed, apart from the outages; the share of them that leaves one alive."""

LATEST_KILL_S = 0.12


@dataclass(frozen=True)
class Step:
    """`at`: the clocks' reading; `odd`: a replica whose clock differs by this much.

    `down`: all replicas are killed before it, and restart at this reading. `quiet`: nothing may become due, so it only
    lasts a moment. `daemons_end`: some daemons' runs end at it; `daemons_run`: by now all daemons run again. `kills`:
    replicas killed, `kill_after` seconds into it, never the odd one.
    """

    at: datetime
    odd: tuple[int, timedelta] | None = None
    down: bool = False
    quiet: bool = False
    daemons_end: bool = False
    daemons_run: bool = False
    kills: int = 0
    kill_after: float = 0.0

    @property
    def readings(self) -> list[datetime]:
        """One for each replica."""
        shown = [self.at] * REPLICAS
        if self.odd is not None:
            shown[self.odd[0]] += self.odd[1]
        return shown

    @property
    def last(self) -> datetime:
        """The reading of the clock that is furthest ahead: it decides what becomes due."""
        return max(self.readings)


class Script:
    """`instants`: those at which anything is due, in order."""

    def __init__(self, instants: Sequence[datetime], *, days: int, seed: int) -> None:
        self._instants, self._random = instants, Random(f"{seed} script")
        self._incidents = self._choose(days)
        kill_steps = min(ceil(KILL_STEPS_PER_YEAR * days / YEAR), len(instants))
        self._kill_steps = set(self._random.sample(range(len(instants)), kill_steps))

    def steps(self) -> Iterator[Step]:
        shown, daemons_at = self._instants[0] - DAY, self._instants[0]
        for index, instant in enumerate(self._instants):
            if instant <= shown:
                continue  # already passed by a jump or an outage
            for step in self._around(index, instant):
                shown = max(shown, step.last)
                yield step
            free = index + 1 == len(self._instants) or self._instants[index + 1] > instant + DAEMONS_REST
            if instant >= daemons_at and instant.hour >= DAEMON_HOUR and shown == instant and free:
                daemons_at = instant + DAEMON_EVERY - timedelta(hours=instant.hour)
                yield Step(instant, daemons_end=True)
                yield Step(instant + SECOND)
                yield Step(instant + DAEMONS_REST, daemons_run=True)

    def _around(self, index: int, instant: datetime) -> list[Step]:
        """The steps that lead to this instant, with its incident."""
        chance = self._random
        odd, late = chance.randrange(REPLICAS), chance.choice(LATENESS)
        late_for_one = max(late, LEAD)
        before, main = Step(instant - JUMP + late, quiet=True), Step(instant)
        if index in self._kill_steps:
            kills = REPLICAS - 1 if chance.random() < ALL_BUT_ONE else 1
            main = replace(main, kills=kills, kill_after=chance.uniform(0, LATEST_KILL_S))
        match self._incidents.get(index):
            case None:
                return [main]
            case "ahead":
                return [before, replace(main, at=instant + late)]
            case "back":
                return [main, before]
            case "one ahead":
                before = replace(before, at=instant - JUMP + late_for_one)
                return [before, replace(main, at=before.at, odd=(odd, JUMP))]
            case "one behind":
                return [replace(main, at=instant + late_for_one, odd=(odd, -JUMP))]
            case "outage":
                back = instant + OUTAGE + chance.choice(OUTAGE_ENDS)
                return [main, Step(instant + 7 * MINUTE, quiet=True), Step(back, down=True)]

    def _choose(self, days: int) -> dict[int, Kind]:
        """The incidents, by the index of the instant."""
        chosen: dict[int, Kind] = {}
        busy = [index for index, instant in enumerate(self._instants) if f"{instant:%a %H}" in BUSY_HOURS]
        for kind, per_year in PER_YEAR.items():
            places = busy if kind == "outage" else range(1, len(self._instants))
            free = [place for place in places if place not in chosen]
            count = min(ceil(per_year * days / YEAR), len(free))
            chosen |= dict.fromkeys(self._random.sample(free, count), kind)
        return chosen


def horizon(begin: datetime, days: int) -> datetime:
    """The last instant of the run."""
    return begin + days * DAY
