"""A task's conversation with its assistant: turn after turn, until the result passes or no reply is left (EX-23)."""

from itertools import product
from typing import Any

import pytest
from services.executor.tests.fixtures import (
    BAD,
    GOOD,
    a_task,
    advance,
    at,
    effect,
    equipped,
    new_run,
    signalled,
    with_outcome,
)
from services.executor.tests.fixtures import with_tasks as run_with

from executor.agents.prompt_files import Agents
from executor.agents.prompts import for_task
from executor.domain import lifecycle
from executor.domain.outcomes import NeedsInput, RulesAnswered, TaskAnswered, VerdictGiven
from executor.domain.run import Run
from executor.domain.steps import CheckRules, RequestVerdict, RunTurn
from executor.publish import validation_request
from rota_common.testing.samples import a_robot
from rota_contracts.messages.execution import TaskStatus
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import RulesReply, ValidationResult
from rota_contracts.robots.robot import Phase

MORE = ValidationResult(passed=False, score=0.4, issues=["no figures"], need_reply=True, reply_content="Add figures.")
LAYERS = ["rules", "meaning"]


def judged(run: Run, verdict: ValidationResult, layer: str = "rules", error: str | None = None) -> Run:
    """The run whose assistant answered, and whose answer was judged so by this layer of the validator."""
    if isinstance(lifecycle.next_step(run), RunTurn):
        run = advance(run)
    if layer == "rules":
        return with_outcome(run, RulesAnswered("task-1", RulesReply(verdict=verdict)))
    run = with_outcome(run, RulesAnswered("task-1", RulesReply(verdict=GOOD)))
    step = lifecycle.next_step(run)
    assert isinstance(step, RequestVerdict)
    return with_outcome(run, VerdictGiven(step.validation_id, "task-1", verdict, error))


def better(run: Run, number: int) -> Run:
    """The run whose assistant has answered something new."""
    return with_outcome(run, TaskAnswered("task-1", Text(inline=f"try {number}")))


def more(number: int) -> ValidationResult:
    """A no that is another one each time, with the same issue."""
    return MORE.model_copy(update={"score": round(0.3 + number / 1000, 3)})


def one_task(**executor: Any) -> Run:
    return run_with(a_task(1, expected_output="figures"), robot=equipped(**executor))


@pytest.mark.parametrize("layer", LAYERS)
def test_a_verdict_that_wants_a_reply_opens_the_next_turn_with_it(layer: str) -> None:  # EX-23 VA-12
    run = judged(one_task(), MORE, layer)
    step = lifecycle.next_step(run)
    assert isinstance(step, RunTurn)
    assert (step.turn, step.iteration) == (2, 0)
    (result,) = run.execution.results
    first, second = result.turns
    assert (first.output and first.output.inline, first.validation) == ("result of task-1", MORE)
    assert (second.told, second.output, result.status) == ("Add figures.", None, TaskStatus.RUNNING)


def test_each_turn_is_a_step_of_its_own() -> None:
    run = one_task()
    first, second = lifecycle.next_step(run), lifecycle.next_step(judged(run, MORE))
    assert isinstance(first, RunTurn)
    assert isinstance(second, RunTurn)
    assert first.step_id != second.step_id


@pytest.mark.parametrize("layer", LAYERS)
def test_the_verdict_on_a_later_turn_completes_the_task(layer: str) -> None:  # EX-23
    run = judged(judged(one_task(), MORE, layer), GOOD, layer)
    run = run if layer == "meaning" else judged(judged(one_task(), MORE), GOOD, "meaning")
    (result,) = run.execution.results
    assert (result.status, len(result.turns), result.validation) == (TaskStatus.COMPLETED, 2, GOOD)
    assert run.execution.phase is Phase.DELIVERY


def test_after_the_last_turn_that_a_robot_allows_the_task_fails(subtests: pytest.Subtests) -> None:  # EX-20 EX-23
    for turns, layer in product([1, 2, 4], LAYERS):
        with subtests.test(turns=turns, layer=layer):
            run = one_task(max_turns_per_task=turns)
            for number in range(1, turns + 1):
                step = lifecycle.next_step(run)
                assert isinstance(step, RunTurn)
                assert step.turn == number
                run = judged(better(run, number), more(number), layer)
            after = f" (after {turns} turns)" if turns > 1 else ""
            assert run.execution.error == f"task task-1 (Step 1): no figures{after}"
            assert len(run.execution.results[0].turns) == turns


def test_a_task_has_ten_turns_by_default() -> None:  # EX-20
    run = one_task()
    for number in range(9):
        run = judged(better(run, number), more(number))
    assert run.execution.error is None
    run = judged(better(run, 10), more(10))
    assert run.execution.error == "task task-1 (Step 1): no figures (after 10 turns)"


@pytest.mark.parametrize("layer", LAYERS)
def test_an_equal_output_ends_the_turns(layer: str) -> None:
    run = judged(judged(one_task(), MORE, layer), more(1), layer)
    assert run.execution.error == (
        "task task-1 (Step 1): no figures (after 2 turns, as the last two results are the same)"
    )


@pytest.mark.parametrize("layer", LAYERS)
def test_an_equal_verdict_ends_the_turns(layer: str) -> None:
    run = judged(better(judged(one_task(), more(1), layer), 2), MORE, layer)
    run = judged(better(run, 3), MORE, layer)
    assert run.execution.error == (
        "task task-1 (Step 1): no figures (after 3 turns, as the last two verdicts are the same)"
    )


def test_the_output_of_a_task_that_was_not_accepted_is_its_best() -> None:
    run = judged(better(one_task(max_turns_per_task=3), 1), more(1))
    best = MORE.model_copy(update={"score": 0.55, "issues": ["one figure is missing"]})
    run = judged(better(run, 2), best)
    (result,) = judged(better(run, 3), more(3)).execution.results
    assert (result.status, result.validation, result.output) == (TaskStatus.FAILED, best, Text(inline="try 2"))
    assert result.error == "one figure is missing (after 3 turns)"


def test_a_persons_answer_between_two_turns_is_no_standstill() -> None:
    run = judged(one_task(), MORE)
    run = with_outcome(run, NeedsInput("Which figures?"))
    run = signalled(run, "instruct", "Those of May.")
    assert judged(run, MORE).execution.error is None


def test_a_no_without_a_reply_fails_the_task_in_its_first_turn(subtests: pytest.Subtests) -> None:
    for layer, verdict in product(
        LAYERS, [BAD, MORE.model_copy(update={"need_reply": False}), MORE.model_copy(update={"reply_content": ""})]
    ):
        with subtests.test(layer=layer, verdict=verdict):
            run = judged(one_task(), verdict, layer)  # EX-23 EX-25
            assert [result.status for result in run.execution.results] == [TaskStatus.FAILED]
            assert run.execution.phase is Phase.LEARNING


def test_a_validator_that_could_not_judge_wants_no_reply() -> None:
    run = judged(one_task(), MORE, "meaning", error="the agent gave no verdict")
    assert run.execution.error == "task task-1 (Step 1): the agent gave no verdict"


def test_a_whole_result_needs_no_reply_whatever_is_said() -> None:
    run = judged(one_task(), MORE.model_copy(update={"passed": True, "complete": True}), "meaning")
    assert run.execution.results[0].status is TaskStatus.COMPLETED


def test_a_good_result_that_is_not_complete_goes_on_while_there_are_turns() -> None:  # VA-12, DEC-38
    half = MORE.model_copy(update={"passed": True})
    run = judged(one_task(max_turns_per_task=2), half, "meaning")
    assert [turn.told for turn in run.execution.results[0].turns] == ["", "Add figures."]
    run = judged(run, half, "meaning")
    assert run.execution.results[0].status is TaskStatus.COMPLETED


def test_a_validation_request_names_the_turn() -> None:  # VA-12 EX-20
    run = advance(judged(one_task(max_turns_per_task=3), MORE))
    step = lifecycle.next_step(run)
    assert isinstance(step, CheckRules)
    assert (step.conversation.turn, step.conversation.max_turns, step.conversation.goes_on) == (2, 3, True)
    run = advance(run)
    step = lifecycle.next_step(run)
    assert isinstance(step, RequestVerdict)
    asked = validation_request(run, step)
    assert (asked.conversation.turn, asked.conversation.max_turns) == (2, 3)


@pytest.mark.parametrize(("given", "threshold"), [({}, 0.6), ({"validation_threshold": 0.85}, 0.85)])
def test_the_threshold_of_the_robot_goes_to_the_validator(given: Any, threshold: float) -> None:  # EX-20 VA-11
    run = at(RequestVerdict, run=new_run(robot=a_robot(config={"executor": given})), expected="figures")
    step = lifecycle.next_step(run)
    assert isinstance(step, RequestVerdict)
    assert validation_request(run, step).threshold == threshold


def test_each_turn_is_judged_under_an_id_of_its_own() -> None:
    first = advance(one_task())
    second = advance(judged(one_task(), MORE))
    ids = {step.check_id for step in map(lifecycle.next_step, (first, second)) if isinstance(step, CheckRules)}
    assert len(ids) == 2


def test_a_verdict_on_a_turn_that_is_past_changes_nothing() -> None:
    run = advance(advance(one_task()))
    old = lifecycle.next_step(run)
    assert isinstance(old, RequestVerdict)
    late = VerdictGiven(old.validation_id, "task-1", GOOD, None)
    run = with_outcome(run, VerdictGiven(old.validation_id, "task-1", MORE, None))
    for _ in range(3):  # before its answer, its rules, its verdict
        assert with_outcome(run, late).execution == run.execution
        run = advance(run)
    assert run.execution.results[0].status is TaskStatus.COMPLETED
    assert len(run.execution.results[0].turns) == 2


def test_the_rules_are_checked_in_every_turn() -> None:
    run = judged(one_task(), MORE, "meaning")
    assert run.checked is None
    assert isinstance(lifecycle.next_step(advance(run)), CheckRules)


def test_the_next_turn_shows_the_whole_conversation() -> None:  # EX-23
    run = judged(one_task(), MORE)
    task = (run.execution.tasks or [])[0]
    said = [(message.role, message.text()) for message in for_task(run, task, Agents().of("acme").assistant("x"), {})]
    assert said[-2:] == [("assistant", "result of task-1"), ("user", "Add figures.")]


def test_an_instruction_between_turns_applies_from_the_next() -> None:  # TG-07
    run = judged(signalled(one_task(), "instruct", "Think of Initech too."), MORE)
    assert effect(run) == "applies from the next step"
    task = (run.execution.tasks or [])[0]
    text = "\n".join(message.text() for message in for_task(run, task, Agents().of("acme").assistant("x"), {}))
    assert "<said_by_people_meanwhile>\n- [instruct] Think of Initech too." in text


def test_the_output_of_a_task_is_that_of_its_last_turn() -> None:
    run = judged(one_task(), MORE)
    run = with_outcome(run, TaskAnswered("task-1", Text(inline="with 7 figures")))
    run = judged(run, GOOD, "meaning")
    output = run.execution.results[0].output
    assert output is not None
    assert output.inline == "with 7 figures"
