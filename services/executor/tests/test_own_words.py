"""The words that were asked, and the instant, in the prompts of tasks and in what the validator is asked."""

from datetime import timedelta
from typing import Any

from services.executor.tests.fixtures import a_task, advance, at, new_run, with_outcome, with_tasks

from executor.adapters.in_memory import InMemoryBlobs
from executor.agents.prompt_files import Agents, parse
from executor.agents.prompts import for_task
from executor.domain import lifecycle
from executor.domain.outcomes import TaskAnswered
from executor.domain.run import Run
from executor.domain.situation.moment import moment_of, now_text
from executor.domain.steps import RequestVerdict, RunTurn
from executor.publish import validation_request
from executor.reads.run_summary import run_summary
from rota_common.testing.samples import NOON, a_robot
from rota_contracts.messages.learning import Lesson, LessonType
from rota_contracts.messages.run_history import Intervention
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import Message, TriggerInput
from rota_contracts.robots.robot import Phase

WORDS = "Translate into Spanish: it rains"
REQUEST = TriggerInput(messages=[Message(content=WORDS)])


def shown(run: Run, number: int = 0) -> list[Message]:
    task = (run.execution.tasks or [])[number]
    return for_task(run, task, Agents().of("acme").assistant(task.executor_id), {})


def test_every_task_sees_the_persons_own_words_once() -> None:  # EX-16
    one = with_tasks(a_task(1, messages=REQUEST.messages), run=new_run("human", input=REQUEST))
    two = with_tasks(a_task(1), a_task(2), run=new_run("human", input=REQUEST))
    for run, number in ((one, 0), (two, 0), (two, 1)):
        texts = [message.text() for message in shown(run, number)]
        assert "\n".join(texts).count(WORDS) == 1
        assert f"<request>\n{WORDS}\n</request>" in texts[1]


def asked(run: Run) -> Any:
    step = lifecycle.next_step(run)
    assert isinstance(step, RequestVerdict)
    return validation_request(run, step)


def test_the_judge_sees_what_a_person_asked() -> None:
    run = at(RequestVerdict, run=new_run("human", input=REQUEST), expected="a sentence")
    request = asked(run)
    assert (request.asked, request.now) == (WORDS, "Monday, 2026-03-02 12:00:00 (UTC)")
    assert request.given == {}


def test_the_judge_sees_the_event_and_the_results_that_its_author_saw() -> None:
    run = at(RequestVerdict, expected="a score")
    said = Intervention(intervention_id="i", action="instruct", text="Be kind.", at=NOON)
    run = run.with_execution(interventions=[said])
    assert '"company": "Globex"' in asked(run).given["event"]
    assert (asked(run).asked, asked(run).said) == ("", "- [instruct] Be kind.")
    second = advance(run)
    while not isinstance(lifecycle.next_step(second), RequestVerdict):
        second = advance(second, expected="a score")
    assert asked(second).given["earlier results"] == "### Step 1\nresult of task-1"


async def test_the_learner_sees_the_lessons_there_are() -> None:
    lesson = Lesson(id="l1", type=LessonType.INSIGHT, content="Globex pays late", execution_id="e0", learnt_at=NOON)
    run = at(Phase.DELIVERY).with_execution(recalled=[lesson])
    summary = await run_summary(run, InMemoryBlobs())
    assert (summary.known, summary.now) == (["Globex pays late"], "Monday, 2026-03-02 12:00:00 (UTC)")


def test_the_instant_is_the_newest_that_the_run_has_stored() -> None:
    run = at(RunTurn)
    assert moment_of(run) == NOON
    later = NOON + timedelta(hours=3)
    said = Intervention(intervention_id="i", action="instruct", text="x", at=later)
    assert moment_of(run.with_execution(interventions=[said])) == later
    assert moment_of(run.model_copy(update={"retry_at": later})) == later
    stored = Run.model_validate_json(run.model_dump_json())
    assert now_text(stored) == now_text(run)


def test_the_instant_is_shown_in_the_robots_zone() -> None:  # EX-36
    robot = a_robot(config={"clock": {"mode": "times", "times": ["09:00"], "tz": "Europe/Madrid"}})
    assert now_text(new_run(robot=robot)) == "Monday, 2026-03-02 13:00:00 (Europe/Madrid)"


def test_the_instant_of_a_task_stays_the_same_through_its_turn() -> None:
    run = with_tasks(a_task(1), a_task(2))
    (task, _) = run.execution.tasks or []
    before = now_text(run, task)
    answered = with_outcome(run, TaskAnswered("task-1", Text(inline="x")))
    (result,) = answered.execution.results
    begun = result.model_copy(update={"started_at": NOON + timedelta(minutes=9), "turns": []})
    assert now_text(answered.with_execution(results=[begun]), task) == before


def test_the_answer_to_a_question_stands_once_in_the_conversation() -> None:
    run = with_tasks(a_task(1))
    answer = Intervention(intervention_id="i", action="instruct", text="The German one.", at=NOON)
    turns = [{"number": 1, "output": Text(inline="Which?")}, {"number": 2, "told": "The German one."}]
    answered = with_outcome(run, TaskAnswered("task-1", Text(inline="x")))
    (result,) = answered.execution.results
    asked_again = result.model_validate({**result.model_dump(), "turns": turns, "status": "running", "output": None})
    run = answered.with_execution(results=[asked_again], interventions=[answer])
    assert "\n".join(message.text() for message in shown(run)).count("The German one.") == 1


def test_an_agents_file_may_describe_it_for_planners() -> None:
    agent = parse("acme.poet", "---\nteams: [acme]\ndescription: writes  poems\n---\nWrite.")
    assert agent.description == "writes poems"
    assert Agents().of("acme").about(["rota.run", "acme.poet"]).keys() == {"rota.run"}
