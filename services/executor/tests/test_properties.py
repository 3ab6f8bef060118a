"""Properties of every life of an execution: outcomes may come twice, late or early, and signals at any time."""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from services.executor.tests.fixtures import a_signal
from services.executor.tests.random_runs import Chance, Event, a_beginning, happen, next_events

from executor.domain import lifecycle
from executor.domain.outcomes import (
    CallsBegun,
    DeliveryTaken,
    Learnt,
    NotCalled,
    Promised,
    StepDelayed,
    Used,
    VerdictGiven,
)
from executor.domain.planning.prepare import accepts_goals
from executor.domain.run import DEADLINE, Run
from executor.domain.steps import describe
from executor.domain.tasks import tasks
from executor.reads.replay import replay
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.trigger import InterventionAction
from rota_contracts.robots.robot import Phase

MOST = 600
"""Events that a life may have; none comes near."""

Draw = Callable[[st.SearchStrategy[Any]], Any]

thoroughly = settings(
    max_examples=settings.default.max_examples * 6 // 5,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TRAVELS = (VerdictGiven, DeliveryTaken, Learnt, Used, CallsBegun)
"""Answers that name what they answer: they may come at any time, any number of times."""


def a_life(run: Run, draw: Draw, *, mischief: int, words: int = 0) -> tuple[Run, list[Event]]:
    """The run at its end, and all that happened to it; people say up to so many things in between."""
    chance, life = Chance(draw, mischief), list[Event]()
    while not run.over:
        assert len(life) < MOST, f"it doesn't come to an end: {[describe(lifecycle.next_step(run)), life[-8:]]}"
        coming = next_events(run, chance)
        if words and draw(st.integers(0, 3)) == 0:
            words -= 1
            answers = [event for event in coming if isinstance(event.outcome, TRAVELS)]
            coming = [Event("word", word=_said(run, draw, len(life))), *answers[: draw(st.integers(0, 1))]]
        for event in coming:
            before, run = run, happen(run, event)
            check(before, run, event)
            life.append(event)
    made = [event.outcome.step_id for event in life if isinstance(event.outcome, Used)]
    assert len(set(made)) == len(made), "a call that had an answer was made again"
    return run, life


def _said(run: Run, draw: Draw, number: int) -> Any:
    action = draw(st.sampled_from(["pause", "resume", "stop", DEADLINE, *InterventionAction]))
    about = draw(st.sampled_from([*[task.id for task in run.execution.tasks or []], "unknown", None]))
    change: dict[str, Any] = {"id": about, "description": "New words"}
    if draw(st.booleans()):
        change["executor_id"] = draw(st.sampled_from(["experts.scorer", "crm.lookup", "crm.ping", "unknown"]))
    goal = draw(st.sampled_from(["", "Goal 1"]))
    if action == InterventionAction.GOAL_ADD and draw(st.booleans()):
        return a_signal(str(action), "Theirs, too.", id=f"w{number}", merged="e8")
    return a_signal(str(action), "As I say.", id=f"w{number}", task=change, goal=goal or None)


def check(before: Run, run: Run, event: Event) -> None:
    """What holds after every single event."""
    describe(lifecycle.next_step(run))
    execution = run.execution
    assert run.parks >= run.granted >= before.granted
    assert run.parks - run.granted <= 1
    assert (run.time_left is None) or run.parks > run.granted
    assert execution.deadline_at is None or not (run.parks > run.granted or run.over)
    assert Run.model_validate(run.model_dump(mode="json")) == run.model_copy(update={"unsaved": [], "stored": None})
    assert len({task.id for task in execution.tasks or []}) == len(execution.tasks or [])
    assert [phase.finished_at for phase in execution.phases].count(None) == (0 if run.over else 1)
    if before.over:
        assert execution == before.execution
    if run.cancelled is not None and run.over:
        assert execution.status is ExecStatus.CANCELLED
    if not run.over:
        assert (execution.status is ExecStatus.PAUSED) == run.pausing
        waits = execution.question is not None or bool(run.promised)
        assert (execution.status is ExecStatus.WAITING) == (waits and not run.pausing)
        assert {callback.task_id for callback in run.promised} <= {getattr(tasks.current(run), "id", None)}
    if event.kind == "word" and not before.over:
        assert execution.interventions[-1].effect
        if event.word is not None and event.word.merged and accepts_goals(before):
            assert run.blocked or execution.phase in (Phase.INSPIRATION, Phase.GOALS, Phase.TASKS) or run.replan


@thoroughly
@given(st.data(), st.integers(0, 40))
def test_outcomes_that_come_twice_late_or_early_end_in_the_same_execution(data: st.DataObject, mischief: int) -> None:
    first = a_beginning(data.draw)
    in_order, life = a_life(first, data.draw, mischief=mischief)
    strays = [index for index, event in enumerate(life) if event.kind == "granted" or _settles(event)]
    run = first
    for now, event in enumerate(life):
        coming = [life[index] for index in strays if index <= now or _may_be_early(life, index, now)]
        for stray in data.draw(st.lists(st.sampled_from(coming), max_size=3)) if coming else []:
            run = happen(run, stray)
        run = happen(happen(run, event), event) if now in strays else happen(run, event)
    assert run.execution == in_order.execution


def _settles(event: Event) -> bool:
    """Is it the one outcome of its step? A step that is delayed is made again, and each delay counts; a promise is one
    outcome of a call, and its result another."""
    return event.outcome is not None and not isinstance(event.outcome, StepDelayed | NotCalled | Promised)


def _may_be_early(life: list[Event], index: int, now: int) -> bool:
    """Calls begin by their own worker's hand, and one that isn't made yet has no answer."""
    outcome = life[index].outcome
    if isinstance(outcome, CallsBegun):
        return False
    key = outcome.step_id if isinstance(outcome, Used) else ""
    between = [event.outcome for event in life[now:index]]
    return not any(isinstance(each, NotCalled) and each.step_id == key for each in between)


@thoroughly
@given(st.data(), st.integers(0, 40), st.integers(1, 12))
def test_no_signals_at_any_time_break_a_run(data: st.DataObject, mischief: int, words: int) -> None:
    run, life = a_life(a_beginning(data.draw), data.draw, mischief=mischief, words=words)
    stopped = [event for event in life if event.word is not None and event.word.action == "stop"]
    assert (run.execution.status is ExecStatus.CANCELLED) == bool(stopped)
    for event in life:  # whatever comes to a run that is over
        assert happen(run, event).execution == run.execution


@thoroughly
@given(st.data(), st.integers(0, 40), st.integers(0, 8))
def test_every_life_can_be_replayed_to_the_last_byte(data: st.DataObject, mischief: int, words: int) -> None:  # F24
    run, life = a_life(a_beginning(data.draw), data.draw, mischief=mischief, words=words)
    stored = Run.model_validate(run.model_dump(mode="json"))
    entries = [
        type(entry).model_validate(entry.model_dump(mode="json", exclude_defaults=True)) for entry in run.unsaved
    ]
    said = [entry.said.inline or "" if entry.said is not None else "" for entry in entries]
    answer = replay(stored, entries, said, signals=[event.word for event in life if event.word is not None])
    assert (answer.difference, answer.same) == ("", True)
    assert [decision.outcome for decision in answer.decisions] == [entry.kind for entry in entries]
