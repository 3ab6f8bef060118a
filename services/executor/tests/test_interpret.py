"""The interpretation of model replies as outcomes; what can't be stored is unusable."""

import json
from typing import Any

import pytest
from services.executor.tests.fixtures import (
    EQUIPPED,
    a_task,
    advance,
    advance_until,
    at,
    new_run,
    with_outcome,
    with_tasks,
)
from services.executor.tests.harness import LOOKUP

from executor.domain import lifecycle
from executor.domain.conversation.chat import ModelReply, ToolCall
from executor.domain.outcomes import (
    GoalsCompared,
    GoalsSet,
    NothingToDo,
    Outcome,
    Planned,
    TaskAnswered,
    Thought,
    Unusable,
)
from executor.domain.planning.interpret import LargeTexts, interpret, room
from executor.domain.run import Run
from executor.domain.steps import AskAgent, CompareGoals
from rota_contracts.json_values import MAX_DEPTH
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.learning import DedupDecision, GoalsReply
from rota_contracts.messages.text import INLINE_LIMIT, Text
from rota_contracts.robots.robot import Phase


def understood(run: Run, said: ModelReply, kept: LargeTexts | None = None) -> Outcome:
    step: Any = lifecycle.next_step(run)
    return interpret(run, step, said, [LOOKUP], kept or LargeTexts())


def planning(args: str) -> Outcome:
    task = f'{{"description": "x", "executor_id": "experts.writer", "args": {args}}}'
    return understood(at(Phase.TASKS, run=new_run(robot=EQUIPPED)), ModelReply(text=f'{{"tasks": [{task}]}}'))


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_json_that_no_store_can_hold_is_asked_for_again(subtests: pytest.Subtests) -> None:
    cases = [
        (f"[{2**63}]", "expected whole numbers of at most 64 bits; write longer ones as text"),
        (f"[{-(2**63) - 1}]", "expected whole numbers of at most 64 bits; write longer ones as text"),
        (f'[{{"a": [{2**99}]}}]', "expected whole numbers of at most 64 bits; write longer ones as text"),
        ('[{"a\\u0000b": 1}]', "expected names without a zero byte"),
        (nested(90), f"expected JSON that is nested at most {MAX_DEPTH} levels deep"),
        (nested(400), f"expected JSON that is nested at most {MAX_DEPTH} levels deep"),
    ]
    for args, reason in cases:
        with subtests.test(args=args, reason=reason):
            assert planning(args) == Unusable(reason)


@pytest.mark.parametrize("args", ["[NaN]", "[Infinity]", nested(100_000)])
def test_what_is_no_json_is_no_plan(args: str) -> None:
    outcome = planning(args)
    assert isinstance(outcome, Unusable)
    assert outcome.reason.startswith("expected a plan as JSON")


def test_everything_else_is_kept_as_it_is(subtests: pytest.Subtests) -> None:
    for args in [f"[{2**63 - 1}, {-(2**63)}]", nested(40), '["\\u0000"]', "[1e308, true, null]"]:
        with subtests.test(args=args):
            outcome = planning(args)
            assert isinstance(outcome, Planned)
            assert outcome.tasks[0].args == json.loads(args)


def test_arguments_of_tools_are_held_to_the_same() -> None:
    said = ModelReply(calls=[ToolCall(id="c1", name=LOOKUP.name, arguments={"n": 2**70})])
    assert isinstance(understood(with_tasks(a_task(1)), said), Unusable)


@pytest.mark.parametrize("text", ["\ud83d half a character", "a \udc00"])
def test_halves_of_characters_are_replaced(text: str) -> None:
    outcome = understood(with_tasks(a_task(1)), ModelReply(text=text))
    assert isinstance(outcome, TaskAnswered)
    assert outcome.output.inline == text.replace("\ud83d", "\ufffd").replace("\udc00", "\ufffd")
    assert ModelReply.model_validate_json(ModelReply(text=text).model_dump_json()) == ModelReply(text=text)
    assert ModelReply(text="\ud83d\ude00 😀").text == "😀 😀"


def test_an_empty_answer_is_asked_for_again() -> None:
    assert understood(with_tasks(a_task(1)), ModelReply(text=" \n")) == Unusable(
        "expected the result of the task from experts.writer, got an empty answer"
    )


def test_text_beside_calls_is_kept_with_them() -> None:
    said = ModelReply(text="I'll look.", calls=[ToolCall(id="c1", name=LOOKUP.name, arguments={"name": "A"})])
    outcome = understood(with_tasks(a_task(1)), said)
    assert isinstance(outcome, Thought)
    assert (outcome.text, [use.tool for use in outcome.uses]) == ("I'll look.", ["lookup"])


def test_a_long_answer_is_kept_by_reference_and_left_to_be_stored() -> None:
    kept = LargeTexts()
    outcome = understood(with_tasks(a_task(1)), ModelReply(text="x" * (INLINE_LIMIT + 1)), kept)
    assert isinstance(outcome, TaskAnswered)
    assert outcome.output.ref is not None
    assert (outcome.output.ref.size, len(kept.large)) == (INLINE_LIMIT + 1, 1)


def test_all_that_a_run_keeps_inline_stays_below_what_a_message_can_hold() -> None:
    run, left = with_tasks(a_task(1), a_task(2), a_task(3)), []
    for number in (1, 2, 3):
        left.append(room(run))
        run = advance(with_outcome(run, TaskAnswered(f"task-{number}", Text(inline="x" * left[-1]))))
    assert left == [INLINE_LIMIT, INLINE_LIMIT, 0]


@pytest.mark.parametrize("phase", [Phase.GOALS, Phase.TASKS])
def test_that_there_is_nothing_to_do_is_an_answer(phase: Phase) -> None:  # EX-29
    assert understood(at(phase), ModelReply(text='{"nothing_to_do": "no leads"}')) == NothingToDo("no leads")


def test_goals_count_though_a_reason_for_none_stands_beside_them_and_may_be_a_list() -> None:
    said = ModelReply(text='{"content": ["1. Score the lead", "2. Name it"], "nothing_to_do": "No more than that."}')
    run = at(Phase.GOALS)
    outcome = understood(run, said)
    assert isinstance(outcome, GoalsSet)
    assert outcome.goals.content == "1. Score the lead\n2. Name it"
    step = AskAgent(Phase.GOALS, "s1")
    assert interpret(run, step, said, (), LargeTexts(), version=3) == NothingToDo("No more than that.")


def comparing() -> Run:
    config = EQUIPPED.robot_config
    dedup = config.dedup.model_copy(update={"on": True})
    robot = EQUIPPED.model_copy(update={"robot_config": config.model_copy(update={"dedup": dedup})})
    return at(CompareGoals, run=new_run(robot=robot))


def compared(**answer: Any) -> Run:
    return with_outcome(
        comparing(), GoalsCompared(GoalsReply.model_validate({"reason": "at 9", "execution_id": "e0"} | answer))
    )


def test_goals_that_were_reached_before_end_the_run_as_complete_with_the_reason() -> None:  # SC-13
    over = advance_until(compared(decision=DedupDecision.SKIP))[0].execution
    assert (over.status, over.skipped, over.tasks) == (
        ExecStatus.COMPLETED,
        "done before (execution e0): at 9",
        None,
    )


def test_goals_that_were_partly_reached_are_planned_for_the_rest() -> None:  # SC-13
    run = compared(decision=DedupDecision.MERGE, goals="the rest")
    assert run.execution.goals is not None
    assert (run.execution.goals.content, run.execution.notes[-1]) == (
        "the rest",
        "goals: partly done before (execution e0): at 9",
    )
    assert advance_until(run)[0].execution.status is ExecStatus.COMPLETED


def test_new_goals_are_planned_for_as_they_are_and_compared_once() -> None:  # SC-13
    run = compared(decision=DedupDecision.PROCEED)
    assert run.execution.goals == comparing().execution.goals
    _, steps = advance_until(run)
    assert CompareGoals not in [type(step) for step in steps]


def test_without_dedup_the_learner_is_not_asked() -> None:  # SC-13
    _, steps = advance_until(new_run())
    assert CompareGoals not in [type(step) for step in steps]
