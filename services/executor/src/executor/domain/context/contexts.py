"""The context of a run's step in hand: which conversation it has, and what came of its overflows and compactions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from executor.domain.context.compaction import (
    OVERFLOW_KEEPS,
    OVERFLOW_NOTE,
    Place,
    end,
    next_place,
    place_of_last,
)
from executor.domain.notes import noted
from executor.domain.outcomes import Compacted, Overflowed
from executor.domain.run import Context, Run
from executor.domain.steps import AskAgent, Compact, RunTurn, Step, subject_of
from rota_contracts.ids import derived_id
from rota_contracts.messages.conversation import Turn
from rota_contracts.messages.execution import Task
from rota_contracts.robots.robot import Phase

S = TypeVar("S", AskAgent, RunTurn)

MAX_OVERFLOWS = 6
"""Overflows that a provider may report of one conversation; each halves what it is sent."""


def of_phase(phase: Phase) -> str:
    """The name of a phase's conversation."""
    return f"phase {phase}"


def of_task(task_id: str) -> str:
    return f"task {task_id}"


def of_subject(subject: Phase | Task) -> str:
    return of_task(subject.id) if isinstance(subject, Task) else of_phase(subject)


def of_step(step: AskAgent | RunTurn | Compact) -> str:
    return of_subject(subject_of(step))


def context_of(run: Run, name: str) -> Context:
    return run.context if run.context is not None and run.context.of == name else Context(of=name)


def turns_of(run: Run, name: str) -> Sequence[Turn]:
    if name == of_phase(Phase.INSPIRATION):
        return [Turn(number=1, rounds=run.looked_up)] if run.looked_up else []
    results = (result for result in run.execution.results if of_task(result.task_id) == name)
    return next((result.turns for result in results), [])


def place_to_cut(run: Run, name: str) -> Place | None:
    return next_place(turns_of(run, name), context_of(run, name))


def with_context(run: Run, step: S) -> S | Compact:
    """The step, or the compaction that goes before it. A step with another context is another call."""
    context = context_of(run, of_step(step))
    if not context.times and not context.full:
        return step
    if context.full and (place := place_to_cut(run, context.of)) is not None:
        key = derived_id("step", run.id, "compact", context.of, context.times)
        return Compact(key, *place, subject_of(step))
    key = derived_id("step", step.step_id, "context", context.times)
    return replace(step, step_id=key)


def expected(step: Step, outcome: Overflowed | Compacted) -> bool:
    kinds = AskAgent | RunTurn if isinstance(outcome, Overflowed) else Compact
    return isinstance(step, kinds) and of_step(step) == outcome.of


def apply(run: Run, outcome: Overflowed | Compacted) -> Run:
    context, turns = context_of(run, outcome.of), turns_of(run, outcome.of)
    run = run.model_copy(update={"failures": 0, "retry_at": None})
    match outcome:
        case Compacted(_, summary, turn, rounds):
            made = {"summary": summary, "turn": turn, "rounds": rounds, "full": False, "times": context.times + 1}
            return run.model_copy(update={"context": context.model_copy(update=made)})
        case Overflowed(_, 0):
            return run.model_copy(update={"context": context.model_copy(update={"full": True})})
    kept, short = place_of_last(turns, context, OVERFLOW_KEEPS), end(turns)
    update = {
        "turn": kept[0],
        "rounds": kept[1],
        "short_turn": short[0],
        "short_rounds": short[1],
        "window": outcome.window,
        "overflows": context.overflows + 1,
        "times": context.times + 1,
        "full": False,
    }
    return noted(run, [OVERFLOW_NOTE]).model_copy(update={"context": context.model_copy(update=update)})
