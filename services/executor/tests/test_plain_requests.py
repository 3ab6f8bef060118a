"""A person's plain request: the model is asked for the result alone."""

from typing import Any

import pytest
from services.executor.tests.fixtures import a_task, new_run, signalled, with_tasks
from services.executor.tests.harness import StepHarness

from executor.adapters.in_memory import ScriptedModel
from executor.agents.sections.identity import duty
from executor.domain import lifecycle
from executor.domain.conversation.chat import ModelReply
from executor.domain.outcomes import NeedsInput, Unusable
from executor.domain.planning.interpret import LargeTexts, interpret
from executor.domain.planning.plain_request import LONGEST, is_plain
from executor.domain.run import Run
from executor.domain.steps import AskAgent
from executor.reads.replay import replay
from rota_common.testing.samples import NOON, a_robot
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.learning import Lesson, LessonType
from rota_contracts.messages.trigger import TriggerInput

ANSWER = "Buenos días.\n\nLo siento."


def asked(words: str = "Translate into Spanish: Good morning. I am sorry.", **given: Any) -> Run:
    """A run of these words; `config` of the robot, other fields of the trigger's input."""
    config = given.pop("config", {})
    message = {"action": "task.add", "messages": [{"role": "user", "content": words}], **given}
    return new_run("human", robot=a_robot(config=config), input=TriggerInput.model_validate(message))


async def test_a_plain_request_is_goal_task_and_report_and_asks_the_model_once() -> None:  # EX-13 EX-16
    harness = StepHarness(ScriptedModel(ANSWER))
    run = await harness.over(asked())
    execution = run.execution
    words = execution.trigger.input.messages[0].text()
    assert (execution.status, execution.error, len(harness.model.prompts)) == (ExecStatus.COMPLETED, None, 1)
    assert execution.goals is not None
    assert execution.goals.content == words
    assert [(task.description, task.executor_id) for task in execution.tasks or []] == [(words, "rota.run")]
    assert execution.content is not None
    assert (execution.content.summary, execution.content.body.inline) == ("Buenos días.", ANSWER)
    said = [entry.said.inline or "" if entry.said is not None else "" for entry in run.unsaved]
    assert replay(run, run.unsaved, said).same
    prompt = harness.model.prompts[0].messages[-1].text()
    assert prompt == words
    assert "<material" not in harness.model.prompts[0].messages[0].text()


def of_event(*duties: str, **config: Any) -> Run:
    identity = {"role": "Lead Scorer", "duties": [*duties], "rules": ["Name the company"]}
    return new_run(robot=a_robot(config={"identity": identity, **config}))


async def test_an_event_for_a_robot_with_one_duty_needs_no_plan_and_is_judged_by_the_owners_rules() -> None:  # EX-16
    harness = StepHarness(ScriptedModel("Globex: 87 of 100"))
    run = await harness.over(of_event("Score each lead"))
    execution = run.execution
    assert (execution.status, execution.error, len(harness.model.prompts)) == (ExecStatus.COMPLETED, None, 1)
    (task,) = execution.tasks or []
    assert (task.description, task.validation_rules) == ("Score each lead", ["Name the company"])
    assert execution.content is not None
    assert execution.content.body.inline == "Globex: 87 of 100"
    system, asked = (message.text() for message in harness.model.prompts[0].messages)
    assert '"company": "Globex"' in asked.split("<material")[1]
    assert asked.endswith(duty(run.robot, "Score each lead"))
    assert "<material" in system  # what strangers wrote is no instruction
    said = [entry.said.inline or "" if entry.said is not None else "" for entry in run.unsaved]
    assert replay(run, run.unsaved, said).same


async def test_what_is_known_for_a_plain_request_stands_in_the_system_message_and_leaves_its_words_alone() -> None:
    lesson = Lesson(id="l1", type=LessonType.INSIGHT, content="Write numbers out.", execution_id="e0", learnt_at=NOON)
    harness = StepHarness(ScriptedModel(ANSWER))
    execution = asked().execution.model_copy(update={"recalled": [lesson]})
    run = await harness.over(asked().model_copy(update={"recalled": True, "execution": execution}))
    (first, last) = harness.model.prompts[0].messages
    assert (run.execution.status, last.text()) == (ExecStatus.COMPLETED, run.execution.trigger.input.messages[0].text())
    assert lesson.content in first.text().split("\n\nNow: ")[1]


def test_what_is_more_than_a_plain_request_is_planned() -> None:
    plan, judge = {"executor": {"planning": "always"}}, {"phases": {"validation": "own.judge"}}
    identity = {"role": "Lead Scorer", "duties": ["Score each lead"]}
    unruled = new_run(robot=a_robot(config={"identity": identity, "resources": judge}))
    runs = {
        "an event for a robot with two duties": of_event("Score each lead", "Report the best"),
        "an event for a robot without duties": of_event(),
        "an event whose goals are compared": of_event("Score each lead", dedup={"on": True}),
        "the clock": new_run("clock"),
        "a goal": asked(action="goal.add"),
        "nothing": asked(" "),
        "a long text": asked("x" * (LONGEST + 1)),
        "two messages": asked(messages=[{"content": "Hello."}, {"content": "Translate it."}]),
        "a picture": asked(messages=[{"content": [{"type": "text", "text": "Describe it."}]}]),
        "two assistants": asked(config={"resources": {"agents": ["a.one", "a.two"]}}),
        "a process": asked(config={"resources": {"processes": [{"name": "crm.pay"}]}}),
        "a planner of its own": asked(config={"resources": {"phases": {"tasks": "own.planner"}}}),
        "a judge of its own": asked(config={"resources": judge}),
        "an event without rules, and a judge of its own": unruled,
        "a robot that always plans": asked(config=plan),
    }
    assert [name for name, run in runs.items() if is_plain(run)] == []
    assert is_plain(asked(config={"resources": {"agents": ["a.one"], "mcp": [{"id": "crm"}]}}))
    assert is_plain(of_event("Score each lead", resources=judge))  # its rules are judged, by that judge


async def test_a_signal_that_comes_meanwhile_counts_in_the_report() -> None:
    harness = StepHarness(ScriptedModel(ANSWER, '{"content": {"summary": "Both.", "body": "# Both"}}'))
    run = await harness.until(asked(), lambda run: isinstance(lifecycle.next_step(run), AskAgent) and _ran(run))
    run = await harness.over(signalled(run, "instruct", "Keep the English, too."))
    assert run.execution.content is not None
    assert (run.execution.content.summary, len(harness.model.prompts)) == ("Both.", 2)


def _ran(run: Run) -> bool:
    return any(result.status == "completed" for result in run.execution.results)


QUESTIONS = {
    "What is the Spanish translation of 'Good morning'?": True,
    "Translate into Spanish: good morning?": True,
    "Which of the two customers is meant: the German or the French one?": False,
    "Who signs the letter?": False,
}


@pytest.mark.parametrize("version", [1, 2])
def test_a_question_that_repeats_the_request_is_refused(version: int) -> None:
    run = asked("Translate into Spanish: Good morning, my friend.")
    offenders = []
    for question, repeated in QUESTIONS.items():
        tried = with_tasks(a_task(1), run=run)
        step: Any = lifecycle.next_step(tried)
        reply = ModelReply(text=f'{{"status": "need_input", "question": "{question}"}}')
        outcome = interpret(tried, step, reply, [], LargeTexts(), version=version)
        if not isinstance(outcome, Unusable if repeated and version > 1 else NeedsInput):
            offenders.append((question, outcome))
    assert offenders == []
