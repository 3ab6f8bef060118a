"""The scheduler's decision about clocks, against the oracle, over weeks of the year's script and without a process."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from random import Random

import pytest

from rota_contracts.ids import clock_trigger_id
from rota_contracts.robots.robot import Robot
from scheduler.domain.clock_state import ClockState, set_clock
from scheduler.domain.clocks import Decision, decide, reads_for
from scheduler.domain.queue import EntryState
from scheduler.domain.robot_summary import summary_of
from tests.clock_year.definition import TEAM, definition
from tests.clock_year.fleet import BEGIN, fleet
from tests.clock_year.oracle import Oracle, Run
from tests.clock_year.script import Script, horizon

DAYS, SEED = 30, 3


class Ticks:
    """Tick after tick: read, decide, queue, and write; some are killed between the last two."""

    def __init__(self, states: list[ClockState], random: Random) -> None:
        self._states = {state.key: state for state in states}
        self._random = random
        self._executions: dict[str, EntryState] = {}
        self.fired: Counter[Run] = Counter()
        self.missed: Counter[str] = Counter()
        self.kills = 0

    def run(self, now: datetime) -> None:
        while due := list(self._due(now)):
            reads = reads_for(due, now)
            queued = {each: self._executions[each] for each in reads.executions if each in self._executions}
            decision = decide(due, queued=queued, held={}, now=now)
            self._queue(decision)
            if self._random.random() < 0.1:
                self.kills += 1
            else:
                self._write(decision)

    def next_run(self, member: str) -> datetime | None:
        return self._states[TEAM, member].next_run

    def _due(self, now: datetime) -> Iterator[ClockState]:
        return (state for state in self._states.values() if state.check_at is not None and state.check_at <= now)

    def _queue(self, decision: Decision) -> None:
        """What is queued already stays as it is."""
        for trigger in decision.triggers:
            assert trigger.scheduled_at is not None
            execution = self._states[TEAM, trigger.member_id].execution_at(trigger.scheduled_at)
            assert trigger.trigger_id == clock_trigger_id(TEAM, trigger.member_id, trigger.scheduled_at)
            if execution not in self._executions:
                self._executions[execution] = EntryState.DONE
                self.fired[trigger.member_id, trigger.scheduled_at] += 1

    def _write(self, decision: Decision) -> None:
        for change in decision.changes:
            self._states[change.new.key] = change.new
            self.missed[change.new.member] += sum(each.count for each in change.missed)


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(fleet(SEED), BEGIN, horizon(BEGIN, DAYS))


def test_the_decision_fires_and_misses_what_the_oracle_expects(oracle: Oracle) -> None:  # SC-01 SC-02 SC-06 SC-07 F3
    """Through daylight saving, the leap day, jumps of the clock, outages, and kills between the two writes."""
    robots = [spec for spec in fleet(SEED) if not spec.daemon]
    ticks, wrong = Ticks([clock_of(definition(spec)) for spec in robots], Random(SEED)), list[str]()
    for step in Script(oracle.instants, days=DAYS, seed=SEED).steps():
        expected = oracle.advance(step.last)
        ticks.fired.clear()
        ticks.missed.clear()
        ticks.run(step.last)
        if ticks.fired != Counter(expected.fires) or ticks.missed != Counter(member for member, _ in expected.skipped):
            wrong.append(f"at {step.last}: {ticks.fired - Counter(expected.fires)} fired, {ticks.missed} missed")
    wrong += [spec.member for spec in robots if ticks.next_run(spec.member) != oracle.next_due(spec.member)]
    assert not wrong
    assert ticks.kills > 10


def clock_of(robot: Robot) -> ClockState:
    clock = robot.robot_config.clock
    assert clock is not None
    return set_clock(summary_of(robot), clock, None, BEGIN)
