"""An agent that asks a person: the run waits, for weeks if need be, and goes on with the answer (DEC-30)."""

from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from services.executor.tests.fixtures import (
    EQUIPPED,
    a_task,
    advance,
    advance_until,
    at,
    effect,
    new_run,
    signalled,
    with_outcome,
    with_tasks,
)
from services.executor.tests.harness import LOOKUP, StepHarness, calls

from executor.adapters.in_memory import ScriptedModel
from executor.agents.prompt_files import Agents
from executor.agents.prompts import for_phase, for_task
from executor.domain import journal, lifecycle
from executor.domain.conversation.ask_person import ASK_PERSON
from executor.domain.conversation.chat import ModelReply
from executor.domain.outcomes import NeedsInput, Unusable
from executor.domain.planning.interpret import LargeTexts, interpret
from executor.domain.planning.own_question import ASK_AGAIN
from executor.domain.run import Run
from executor.domain.steps import AskAgent, Finish, Park, RequestSlot, RunTurn
from rota_common.testing.samples import NOON
from rota_contracts.messages.execution import ExecStatus, TaskStatus
from rota_contracts.robots.robot import Phase

MANAGED = EQUIPPED.model_copy(update={"manager_id": "ann"})
QUESTION = "Which Globex: the German or the French one?"
LATER = NOON + timedelta(weeks=5)
AGENTS_OF = [Phase.INSPIRATION, Phase.GOALS, Phase.TASKS, Phase.DELIVERY]


def asking(run: Run) -> Run:
    return journal.record_parked(with_outcome(run, NeedsInput(QUESTION)), now=NOON)


def answered(run: Run, words: str = "The German one.") -> Run:
    return journal.record_granted(signalled(run, "instruct", words, at=LATER), run.parks, now=LATER)


def insisting(run: Run, question: str) -> Run:
    """The run, after its assistant was asked once whether it can do without an answer: no person waits for it."""
    step: Any = lifecycle.next_step(run)
    refused = interpret(run, step, ModelReply(text=question), [], LargeTexts())
    assert refused == Unusable(ASK_AGAIN)
    return with_outcome(run, refused)


def clock_run(phase: Phase) -> Run:
    return at(phase, run=new_run("clock"))


def test_a_phase_that_needs_input_waits_and_is_repeated_with_the_answer(subtests: pytest.Subtests) -> None:
    for phase in AGENTS_OF:
        with subtests.test(phase=phase):
            before = lifecycle.next_step(clock_run(phase))
            run = asking(clock_run(phase))
            assert (lifecycle.next_step(run), run.execution.status) == (Park(), ExecStatus.WAITING)
            assert run.execution.question is not None
            assert (run.execution.question.question, run.execution.question.task_id) == (QUESTION, None)
            run = answered(run)
            again = lifecycle.next_step(run)
            assert isinstance(again, AskAgent)
            assert isinstance(before, AskAgent)
            assert (again.phase, run.execution.question) == (phase, None)
            assert again.step_id != before.step_id  # another question: a stored answer to the first isn't its answer
            agent = Agents().of("acme").find(f"rota.{phase}")
            assert agent is not None
            asked = for_phase(run, phase, agent, agent.id, {})[-1].text()
            assert "<said_by_people_meanwhile>\n- [instruct] The German one." in asked
            assert advance_until(run)[0].execution.status is ExecStatus.COMPLETED


def test_a_task_that_needs_input_waits_and_gets_the_answer_in_its_next_turn() -> None:
    run = asking(with_tasks(a_task(1), a_task(2)))
    assert run.execution.question is not None
    assert (run.execution.status, run.execution.question.task_id) == (ExecStatus.WAITING, "task-1")
    run = answered(run)
    assert effect(run) == "it is the answer that task task-1 waited for"
    step = lifecycle.next_step(run)
    assert isinstance(step, RunTurn)
    assert (step.task.id, step.turn) == ("task-1", 2)
    task = (run.execution.tasks or [])[0]
    said = [(each.role, each.text()) for each in for_task(run, task, Agents().of("acme").assistant("x"), {})]
    assert said[-2:] == [("assistant", QUESTION), ("user", "The German one.")]
    over = advance_until(run)[0]
    assert [result.status for result in over.execution.results] == [TaskStatus.COMPLETED] * 2


def test_a_task_may_ask_again_and_again() -> None:
    run = with_tasks(a_task(1))
    for number in range(1, 13):  # a person's answers are no turns that a validator may spend
        run = asking(run)
        assert run.parks == number
        run = answered(run)
    assert advance_until(run)[0].execution.status is ExecStatus.COMPLETED


def test_before_it_has_its_slot_again_it_does_nothing() -> None:
    run = signalled(asking(with_tasks(a_task(1))), "instruct", "The German one.", at=LATER)
    assert (lifecycle.next_step(run), run.execution.status) == (RequestSlot(1), ExecStatus.PENDING)


def test_weeks_of_waiting_are_no_working_time() -> None:
    run = asking(with_tasks(a_task(1)))
    assert (run.execution.deadline_at, run.time_left) == (None, 30 * 60)
    assert answered(run).execution.deadline_at == LATER + timedelta(minutes=30)


def test_a_run_that_waits_can_be_paused_as_well_and_needs_both() -> None:
    run = signalled(asking(with_tasks(a_task(1))), "pause")
    assert run.execution.status is ExecStatus.PAUSED
    run = signalled(run, "instruct", "The German one.")
    assert (lifecycle.next_step(run), run.execution.question) == (Park(), None)
    assert lifecycle.next_step(signalled(run, "resume")) == RequestSlot(1)
    run = signalled(signalled(asking(with_tasks(a_task(1))), "pause"), "resume")
    assert (lifecycle.next_step(run), run.execution.status) == (Park(), ExecStatus.WAITING)


def test_a_run_that_waits_can_be_stopped() -> None:
    run = signalled(asking(with_tasks(a_task(1))), "stop")
    step = lifecycle.next_step(run)
    assert step == Finish(ExecStatus.CANCELLED)
    assert lifecycle.finish(run, step.status, now=LATER).execution.question is None


def test_a_task_that_asks_can_be_cancelled_instead_of_answered() -> None:  # TG-07
    run = signalled(asking(with_tasks(a_task(1), a_task(2))), "task.cancel", task={"id": "task-1"})
    assert (run.execution.question, run.execution.results[0].status) == (None, TaskStatus.SKIPPED)
    run = journal.record_granted(run, 1, now=LATER)
    step = lifecycle.next_step(run)
    assert isinstance(step, RunTurn)
    assert step.task.id == "task-2"


def test_only_an_answer_answers(subtests: pytest.Subtests) -> None:
    for action in ["task.add", "goal.add", "goal.adjust", "task.update"]:
        with subtests.test(action=action):
            fields: dict[str, Any] = {"task": {"id": "task-1"}} if action == "task.update" else {}
            run = signalled(asking(with_tasks(a_task(1))), action, "Also Initech.", **fields)
            assert (lifecycle.next_step(run), run.execution.status) == (Park(), ExecStatus.WAITING)


def test_any_agent_can_ask_instead_of_answering(subtests: pytest.Subtests) -> None:
    cases = [
        '{"status": "need_input", "question": "Which?"}',
        'Hm.\n```\n{"status":"need_input","question":"Which?"}\n```',
    ]
    for until, text in product([*AGENTS_OF, RunTurn], cases):
        with subtests.test(until=until, text=text):
            run = at(until, run=new_run("clock"))
            if until is RunTurn:
                run = insisting(run, text)
            step: Any = lifecycle.next_step(run)
            assert interpret(run, step, ModelReply(text=text), [], LargeTexts()) == NeedsInput("Which?")


def test_an_empty_question_is_unusable(subtests: pytest.Subtests) -> None:
    for until in [*AGENTS_OF, RunTurn]:
        with subtests.test(until=until):
            run = at(until, run=new_run("clock"))
            step: Any = lifecycle.next_step(run)
            for text in ('{"status": "need_input"}', '{"status": "need_input", "question": "  "}'):
                assert interpret(run, step, ModelReply(text=text), [], LargeTexts()) == Unusable(
                    'expected a "question" beside "status": "need_input": say what you need to know'
                )


def test_a_question_that_comes_twice_is_asked_once() -> None:
    run = with_outcome(with_tasks(a_task(1)), NeedsInput(QUESTION))
    assert with_outcome(run, NeedsInput("And which month?")) == run
    assert lifecycle.apply(advance(with_tasks(a_task(1))), NeedsInput(QUESTION), now=NOON) == advance(
        with_tasks(a_task(1))
    )


def test_an_assistant_asks_by_a_call() -> None:
    run = with_tasks(a_task(1), run=new_run("human"))
    step: Any = lifecycle.next_step(run)
    asked = {
        "Which?": NeedsInput("Which?"),
        "": Unusable("expected a question to the person, got an empty one: say what you need to know"),
    }
    for question, wanted in asked.items():
        reply = calls((ASK_PERSON.name, {"question": question}), (LOOKUP.name, {"name": "Globex"}))
        assert interpret(run, step, reply, [LOOKUP, ASK_PERSON], LargeTexts()) == wanted


async def test_an_assistant_of_a_run_that_no_person_asked_for_insists_before_it_asks() -> None:
    asks = calls((ASK_PERSON.name, {"question": QUESTION}))
    for second, wanted in ("done", ExecStatus.RUNNING), (asks, ExecStatus.WAITING):
        model, begun = ScriptedModel(asks, second), with_tasks(a_task(1), robot=MANAGED)
        run = await StepHarness(model).until(begun, lambda _, model=model: len(model.prompts) == 2)
        assert run.execution.status is wanted
        assert all(ASK_PERSON.name in [tool.name for tool in prompt.tools] for prompt in model.prompts)


async def test_the_call_is_offered_where_a_person_gets_the_question(subtests: pytest.Subtests) -> None:
    for robot, trigger, wanted in (EQUIPPED, "event", False), (MANAGED, "event", True), (EQUIPPED, "human", True):
        with subtests.test(manager=robot.manager_id, trigger=trigger):
            harness = StepHarness(ScriptedModel("done"))
            await harness.task_done(with_tasks(a_task(1), a_task(2), run=new_run(trigger, robot=robot)))
            assert (ASK_PERSON.name in [tool.name for tool in harness.model.prompts[0].tools]) is wanted


async def test_the_call_is_offered_beside_the_tools_until_an_answer_is_asked_for_again() -> None:
    repeated = calls((ASK_PERSON.name, {"question": "What is the first step?"}))
    harness = StepHarness(ScriptedModel(repeated, "done"))
    run = await harness.task_done(with_tasks(a_task(1, description="Do the first step"), robot=MANAGED))
    assert run.execution.results[0].status is TaskStatus.COMPLETED
    offered = [[tool.name for tool in prompt.tools] for prompt in harness.model.prompts]
    assert [ASK_PERSON.name in names for names in offered] == [True, False]
    assert "only repeats what was asked" in harness.model.prompts[1].messages[-1].text()
