"""The phases of a run and their times (EX-01, EX-02, EX-05)."""

from datetime import datetime, timedelta

from services.executor.tests.fixtures import at, new_run, outcome_of, signalled

from executor.domain import lifecycle
from executor.domain.outcomes import NothingToDo, Planned
from executor.domain.run import Run
from executor.domain.steps import Finish, RunTurn
from rota_common.testing.samples import NOON
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.robots.robot import ALL_PHASES, Phase


def minute(number: int) -> datetime:
    return NOON + timedelta(minutes=number)


def timed_life(run: Run) -> Run:
    """One minute for each step."""
    number = 0
    while not isinstance(step := lifecycle.next_step(run), Finish):
        number += 1
        run = lifecycle.apply(run, outcome_of(run, step, tasks=1), now=minute(number))
    return lifecycle.finish(run, step.status, now=minute(number + 1))


def test_every_phase_has_its_time_and_they_follow_each_other_without_a_gap() -> None:  # EX-02 EX-05
    times = timed_life(new_run("clock")).execution.phases
    assert tuple(time.phase for time in times) == ALL_PHASES
    assert [time.finished_at for time in times[:-1]] == [time.started_at for time in times[1:]]
    assert (times[0].started_at, times[-1].finished_at) == (NOON, minute(10))


def test_a_run_of_a_person_never_was_in_the_first_phase() -> None:  # EX-01
    assert [time.phase for time in timed_life(new_run()).execution.phases] == list(ALL_PHASES[1:])


def test_a_phase_that_is_entered_again_has_a_second_time() -> None:  # TG-07
    run = signalled(at(RunTurn), "goal.add", "Be quick.", at=minute(5))
    run = lifecycle.apply(run, Planned([], []), now=minute(6))
    assert [(time.phase, time.started_at, time.finished_at) for time in run.execution.phases[-3:-1]] == [
        (Phase.RUN, NOON, minute(5)),
        (Phase.TASKS, minute(5), minute(6)),
    ]


def test_phases_that_are_left_out_have_no_time() -> None:  # EX-29
    run = lifecycle.apply(at(Phase.GOALS), NothingToDo("no leads"), now=minute(1))
    over = lifecycle.finish(run, ExecStatus.COMPLETED, now=minute(2))
    assert [(time.phase, time.finished_at) for time in over.execution.phases] == [
        (Phase.GOALS, minute(1)),
        (Phase.LEARNING, minute(2)),
    ]


def test_a_task_began_when_its_first_step_began_and_ended_when_it_was_judged() -> None:  # EX-05
    run = at(RunTurn)
    run = lifecycle.apply(run, outcome_of(run, lifecycle.next_step(run)), now=minute(4), began=minute(1))
    run = lifecycle.apply(run, outcome_of(run, lifecycle.next_step(run)), now=minute(5))
    result = run.execution.results[0]
    assert (result.started_at, result.finished_at) == (minute(1), minute(5))
    assert (result.turns[0].started_at, result.turns[0].finished_at) == (minute(1), minute(4))
