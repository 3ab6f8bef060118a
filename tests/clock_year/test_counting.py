"""The figures of the year, and that each kind of failure is noticed."""

from datetime import UTC, datetime, timedelta
from random import Random

from tests.clock_year.daemons import Daemons
from tests.clock_year.oracle import Verdict
from tests.clock_year.report import Figures
from tests.clock_year.scoreboard import Scoreboard

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
RUN = ("r1", NOON)


def a_scoreboard(*, skipped: int = 0) -> Scoreboard:
    """One run is due, and so many are skipped."""
    scoreboard = Scoreboard()
    scoreboard.expect(Verdict([RUN], [("r2", NOON + count * HOUR) for count in range(skipped)]))
    return scoreboard


def figures(scoreboard: Scoreboard, daemons: Daemons | None = None) -> Figures:
    return Figures(scoreboard, daemons or Daemons([], Random(1)), [], kills=100, days=366, seed=1, steps=1, seconds=1.0)


def test_a_run_that_came_once_is_good() -> None:
    scoreboard = a_scoreboard()
    scoreboard.fired(RUN, "e1")
    assert (scoreboard.due, scoreboard.fired_count, scoreboard.lost, scoreboard.doubled) == (1, 1, 0, 0)


def test_a_run_that_did_not_come_is_missed() -> None:
    scoreboard = a_scoreboard()
    assert (scoreboard.lost, list(scoreboard.open())) == (1, ["r1 should run, scheduled at Wed 01 May 12:00:00"])


def test_a_repeated_request_of_one_execution_is_not_doubled() -> None:
    scoreboard = a_scoreboard()
    scoreboard.fired(RUN, "e1")
    scoreboard.fired(RUN, "e1")
    assert (scoreboard.repeated, scoreboard.doubled) == (1, 0)


def test_a_second_execution_of_one_instant_is_doubled() -> None:
    scoreboard = a_scoreboard()
    scoreboard.fired(RUN, "e1")
    scoreboard.fired(RUN, "e2")
    assert scoreboard.doubled == 1


def test_a_run_that_was_not_due_is_doubled() -> None:
    scoreboard = a_scoreboard(skipped=1)
    scoreboard.fired(("r2", NOON), "e2")
    assert scoreboard.doubled == 1
    assert "1 runs were doubled" in figures(scoreboard).failures()


async def test_a_step_is_complete_when_all_have_fired_and_all_skipped_runs_are_reported() -> None:
    scoreboard = a_scoreboard(skipped=2)
    scoreboard.fired(RUN, "e1")
    assert not await scoreboard.complete(0.01)
    scoreboard.missed("f1", "r2", NOON, NOON + HOUR, 2)
    assert await scoreboard.complete(0.01)
    assert scoreboard.reported_missed == scoreboard.skipped == 2


async def test_what_was_given_up_holds_up_no_later_step_and_counts_unless_it_comes() -> None:
    scoreboard = a_scoreboard()
    assert scoreboard.give_up() == ["r1 should run, scheduled at Wed 01 May 12:00:00"]
    assert await scoreboard.complete(0.01)
    assert scoreboard.lost == 1
    scoreboard.fired(RUN, "e1")
    assert scoreboard.lost == 0


def test_missed_runs_reported_under_two_ids_are_found() -> None:
    scoreboard = a_scoreboard(skipped=1)
    for fact in ("f1", "f1", "f2"):
        scoreboard.missed(fact, "r2", NOON, NOON, 1)
    assert scoreboard.reported_missed == 2
    assert "1 runs were skipped by policy and 2 reported" in figures(scoreboard).failures()


def test_missed_runs_that_were_not_skipped_are_found() -> None:
    scoreboard = a_scoreboard()
    scoreboard.missed("f1", "r1", NOON, NOON, 1)
    assert len(scoreboard.notes) == 1


def daemons() -> Daemons:
    watched = Daemons(["d"], Random(1))
    watched.requested("d", "t1", NOON, NOON)
    return watched


def ended(watched: Daemons, *, well: bool = True) -> None:
    while not (ends := watched.ends(NOON)):
        pass
    if ends[0].well is not well:
        watched.requested("d", f"again at {watched.runs.total()}", NOON + SECOND, NOON + SECOND)
        ended(watched, well=well)


def test_a_daemon_that_follows_its_own_run_after_the_floor_is_good() -> None:
    watched = daemons()
    ended(watched)
    watched.requested("d", "next", NOON + SECOND, NOON + SECOND)
    assert watched.violations == []


def test_a_daemon_that_runs_twice_at_once_is_found() -> None:
    watched = daemons()
    watched.requested("d", "t1", NOON, NOON)  # repeated
    assert watched.violations == []
    watched.requested("d", "t2", NOON, NOON)
    assert len(watched.violations) == 1


def test_a_daemon_that_pauses_too_shortly_is_found() -> None:
    watched = daemons()
    ended(watched)
    watched.requested("d", "next", NOON + SECOND / 2, NOON + SECOND / 2)
    assert len(watched.violations) == 1


def test_a_daemon_that_waits_for_long_is_found_unless_its_runs_have_failed() -> None:
    for well, wrong in ((True, 1), (False, 0)):
        watched = daemons()
        ended(watched, well=well)
        watched.requested("d", "next", NOON + HOUR / 4, NOON + HOUR / 4)
        assert len(watched.violations) == wrong


async def test_a_daemon_that_stalls_is_found() -> None:
    watched = daemons()
    ended(watched)
    await watched.all_run(NOON + HOUR, 0.01)
    assert watched.violations == ["d has stalled: at 2024-05-01 13:00:00+00:00 it should have begun again"]


def test_a_year_needs_its_runs_and_kills() -> None:
    scoreboard = a_scoreboard()
    scoreboard.fired(RUN, "e1")
    assert figures(scoreboard).failures() == ["only 1 runs were due, of the 100000 wanted"]
    few = Figures(scoreboard, Daemons([], Random(1)), [], kills=1, days=1, seed=1, steps=1, seconds=1.0)
    assert few.failures() == ["only 1 runs were due, of the 273 wanted"]
