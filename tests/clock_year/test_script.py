"""The script of the year: enough kills, every kind of jump, and no doubt about which runs are due."""

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from math import ceil

import pytest

from tests.clock_year.fleet import BEGIN, ROBOTS, fleet
from tests.clock_year.oracle import Oracle
from tests.clock_year.report import LEAST_DUE, LEAST_KILLS
from tests.clock_year.script import JUMP, OUTAGE, REPLICAS, YEAR, Script, Step, horizon

MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(fleet(7), BEGIN, horizon(BEGIN, YEAR))


@pytest.fixture(scope="module")
def steps(oracle: Oracle) -> list[Step]:
    return list(Script(oracle.instants, days=YEAR, seed=7).steps())


def test_a_thousand_robots_of_twelve_zones_have_all_modes_and_policies() -> None:
    robots = fleet(7)
    assert len({spec.member for spec in robots}) == ROBOTS
    assert len({spec.tz for spec in robots}) == 12
    modes = Counter("daemon" if spec.daemon else "interval" if spec.every else "times" for spec in robots)
    assert min(modes.values()) >= 10
    assert {spec.policy for spec in robots} == {"skip", "once", "all"}


def test_a_year_has_enough_runs_and_kills(oracle: Oracle, steps: list[Step]) -> None:
    due = sum(len(following.advance(step.last).fires) for following in [oracle] for step in steps)
    assert LEAST_DUE * 1.02 < due < 2 * LEAST_DUE
    assert sum(step.kills + REPLICAS * step.down for step in steps) >= LEAST_KILLS


def test_a_short_run_has_its_share_of_kills(oracle: Oracle) -> None:
    for days in (1, 5, 20, 100):
        instants = [instant for instant in oracle.instants if instant <= horizon(BEGIN, days)]
        steps = Script(instants, days=days, seed=7).steps()
        kills = sum(step.kills + REPLICAS * step.down for step in steps)
        assert kills >= ceil(LEAST_KILLS * days / YEAR), f"{kills} kills in {days} days"


def test_all_clocks_jump_back_and_ahead_and_all_replicas_are_down_for_three_hours(steps: list[Step]) -> None:
    moves = [later.at - step.at for step, later in pairwise(steps)]
    assert moves.count(JUMP) >= 20
    assert sum(-JUMP <= move < timedelta() for move in moves) >= 20
    away = [move for move, step in zip(moves, steps[1:], strict=False) if step.down]
    assert len(away) == 5
    assert all(OUTAGE - 10 * MINUTE <= move <= OUTAGE + 30 * MINUTE for move in away)


def test_a_replica_whose_clock_alone_is_ahead_is_not_killed(steps: list[Step]) -> None:
    """Its due runs are not due by the other clocks yet; when they are, they have fired."""
    odd = [step for step in steps if step.odd]
    assert {step.odd[1] for step in odd if step.odd} == {JUMP, -JUMP}
    assert all(step.kills < REPLICAS for step in odd)
    assert all(step.last - min(step.readings) == JUMP for step in odd)


def test_the_same_seed_makes_the_same_script(oracle: Oracle, steps: list[Step]) -> None:
    assert list(Script(oracle.instants, days=YEAR, seed=7).steps()) == steps
    assert list(Script(oracle.instants, days=YEAR, seed=8).steps()) != steps
