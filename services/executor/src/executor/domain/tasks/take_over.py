"""A run that a new worker takes over: what becomes of the calls that the last one had begun."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from executor.domain.conversation import loop
from executor.domain.phases import timed
from executor.domain.run import Run
from executor.domain.tasks import promised_calls, tasks, turns, unknown_calls
from rota_contracts.messages.execution import TaskStatus
from rota_contracts.robots.robot import Phase

DONE = "done"


def facts(run: Run) -> dict[str, list[str]]:
    """What a take-over depends on beside the run, as its entry keeps it: step ids of the calls whose results wait in
    the inbox."""
    return {DONE: promised_calls.known_results(run)}


def take_over(run: Run, known: Any, *, now: datetime) -> Run:
    """A new worker takes the run over: calls that the last one had begun are made again if they are idempotent;
    otherwise their outcome is unknown, and a person is asked about it. `known`: the `facts`; entries of before people
    were asked have the step ids alone, and their task fails."""
    task = tasks.current(run) if run.execution.phase is Phase.RUN and not run.over else None
    turn = tasks.turn_of(run, task) if task is not None else None
    result = tasks.result_of(run, task.id) if task is not None else None
    if task is None or turn is None or result is None or turn.output is not None:
        return run
    asks = isinstance(known, dict)
    done: Collection[str] = known[DONE] if asks else known or ()
    again, lost = turns.interrupted_calls(turn, already_done={*done, *(callback.step_id for callback in run.promised)})
    if not again and not lost:
        return run
    after = tasks.with_turn(run, result, loop.mark_unknown(loop.put_back(turn, again), lost, at=now))
    if not lost:
        return after
    if asks:
        return unknown_calls.follow(run, after)
    names = ", ".join(use.name for use in turn.rounds[-1].uses if use.step_id in lost)
    reason = f"outcome unknown: its worker ended while it called {names}, which isn't declared idempotent"
    return timed(run, tasks.after_task(tasks.end(after, task, TaskStatus.FAILED, reason, now=now)), now)
