"""Results for programs: the form that an owner has set is filled, or the run fails; outputs of tasks go along."""

import json
from typing import Any

import pytest
from services.executor.tests.fixtures import BAD, a_task, advance, at, equipped, new_run, with_outcome, with_tasks
from services.executor.tests.harness import StepHarness
from services.executor.tests.test_plain_requests import ANSWER, asked

from executor.adapters.in_memory import ScriptedModel
from executor.adapters.rehearsal_model import RehearsalModel
from executor.adapters.schema_examples import example
from executor.agents.sections.schemas import schema
from executor.domain import lifecycle
from executor.domain.delivery_request import OUTPUT, OUTPUTS, delivery_request, failure_request
from executor.domain.outcomes import RulesAnswered, TaskAnswered
from executor.domain.run import Run
from executor.domain.steps import CheckRules, RequestDelivery, RunTurn
from executor.reads.replay import replay
from rota_common.json_schema import check_schema, misfits
from rota_common.testing.samples import a_robot
from rota_contracts.json_values import compact
from rota_contracts.messages.delivery import DeliveredTask
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import RulesReply
from rota_contracts.model import Json
from rota_contracts.robots.robot import Phase

TICKET: dict[str, Json] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"category": {"enum": ["bug", "question"]}, "parts": {"items": {"$ref": "#/$defs/part"}}},
    "required": ["category"],
    "additionalProperties": False,
    "$defs": {"part": {"type": "string"}},
}
FORM: dict[str, Any] = {"schema": TICKET, "on": ["completed", "failed"]}


def written(result: Json) -> str:
    return json.dumps({"content": {"summary": "S", "body": "B", "result": result}})


def writing(**delivery: Any) -> Run:
    """A run whose result is about to be written."""
    return at(Phase.DELIVERY, run=new_run(robot=a_robot(config={"delivery": delivery})))


async def test_the_form_is_asked_for_and_a_result_that_fits_it_goes_along() -> None:
    shop = StepHarness(ScriptedModel(written({"category": "bug", "parts": ["lid"]})))
    run = await shop.until(writing(**FORM), lambda run: run.execution.content is not None)
    step = lifecycle.next_step(run)
    assert isinstance(step, RequestDelivery)
    assert delivery_request(run, step.request_id).content.result == {"category": "bug", "parts": ["lid"]}
    (prompt,) = shop.model.prompts
    form = "at most 16 kB. The result for programs, by the JSON Schema that follows. Its values are what was found"
    assert f"{form}, and never made up: {compact(TICKET)}" in " ".join(prompt.messages[0].text().split())
    assert prompt.schema is not None
    assert prompt.own_form
    sent = {"content": {"summary": "S", "body": "B", "result": {"category": "rant", "parts": [1]}}}
    assert misfits(sent, prompt.schema, name="answer") == [
        "answer.content.result.category: 'rant' is not one of ['bug', 'question']",
        "answer.content.result.parts[0]: 1 is not of type 'string'",
    ]


async def test_a_result_that_does_not_fit_is_asked_for_again_with_the_reasons() -> None:
    shop = StepHarness(ScriptedModel("# Markdown", written({"kind": "rant"}), written({"category": "question"})))
    run = await shop.over(writing(**FORM))
    assert run.execution.content is not None
    assert run.execution.content.result == {"category": "question"}
    first, second = (prompt.messages[-1].text() for prompt in shop.model.prompts[1:])
    assert 'expected JSON like {"content": {"summary"' in first
    assert "content.result: 'category' is a required property; content.result: Additional properties" in second


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (written({"category": "rant"}), "content.result.category: 'rant' is not one of"),
        (written(None), "expected content.result, an object by the JSON Schema of the form: there is none"),
        (written({"category": "x" * 17_000}), "content.result of at most 16384 bytes, got 17015: long texts belong"),
    ],
    ids=["misfit", "missing", "too long"],
)
async def test_a_run_without_a_result_that_fits_fails_and_says_why(answer: str, reason: str) -> None:
    run = await StepHarness(ScriptedModel(last=answer)).over(writing(**FORM))
    assert (run.execution.status, run.execution.content) == (ExecStatus.FAILED, None)
    assert reason in (run.execution.error or "")
    assert (run.execution.error or "").endswith("(3 attempts)")
    failure = failure_request(run)
    assert failure is not None
    assert (failure.context.failed, failure.content.result) == (True, None)
    assert failure.content.body.inline == run.execution.error


async def test_a_plain_request_is_written_up_where_there_is_a_form() -> None:
    shop = StepHarness(ScriptedModel(ANSWER, written({"kind": "rant"}), written({"category": "question"})))
    run = await shop.over(asked(config={"delivery": {"schema": TICKET}}))
    assert (run.execution.status, len(shop.model.prompts)) == (ExecStatus.COMPLETED, 3)
    assert run.execution.content is not None
    assert run.execution.content.result == {"category": "question"}
    said = [entry.said.inline or "" if entry.said else "" for entry in run.unsaved]
    assert replay(run, run.unsaved, said).same


def test_a_form_without_an_own_result_is_as_ever() -> None:
    assert schema("delivery") == schema("delivery", result=None)
    assert "result" not in json.dumps(schema("delivery"))


EXAMPLES: list[dict[str, Json]] = [
    TICKET,
    {"type": "object"},
    {
        "type": "object",
        "required": ["id", "at", "score", "share", "tags", "owner", "note", "page", "free", "size"],
        "properties": {
            "id": {"type": "string", "minLength": 20, "maxLength": 24},
            "at": {"type": "string", "format": "date-time", "examples": ["2027-05-01T00:00:00Z"]},
            "score": {"type": "integer", "minimum": 3, "multipleOf": 5},
            "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "tags": {"type": "array", "items": {"const": "new"}, "minItems": 2},
            "owner": {"anyOf": [{"$ref": "#/$defs/person"}, {"type": "null"}]},
            "note": {"type": ["null", "string"]},
            "page": {"allOf": [{"required": ["n"]}, {"properties": {"n": {"type": "integer", "maximum": -4}}}]},
            "free": True,
            "size": {"type": "integer", "exclusiveMinimum": 9, "exclusiveMaximum": 11},
        },
        "$defs": {
            "person": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "boss": {"$ref": "#/$defs/person"},
                    "on": {"type": "boolean"},
                },
                "required": ["name", "on"],
            }
        },
    },
]


async def test_a_rehearsal_fills_the_form() -> None:
    for wanted in EXAMPLES:
        check_schema(wanted)
        assert misfits(example(wanted), wanted, name="result") == []
    model: Any = RehearsalModel()
    run = await StepHarness(model).over(writing(schema=TICKET))
    assert run.execution.content is not None
    assert run.execution.content.result == {"category": "bug"}


def done(run: Run, *outputs: Text) -> Run:
    """The run, whose tasks have these results, about to request its delivery; the rules refuse the last one."""
    left = list(outputs)
    while not isinstance(step := lifecycle.next_step(run), RequestDelivery):
        if isinstance(step, RunTurn):
            run = with_outcome(run, TaskAnswered(step.task.id, left.pop(0)))
        elif isinstance(step, CheckRules) and not left:
            run = with_outcome(run, RulesAnswered(step.task.id, RulesReply(verdict=BAD)))
        else:
            run = advance(run)
    return run


TALKS = "Score: 87\n" + "x" * OUTPUT


def test_the_tasks_go_along_where_the_owner_wants_them() -> None:
    robot = equipped(continue_on_failure=True)
    outputs = [Text(inline=text) for text in ('```json\n{"score": 87}\n```', "87", TALKS, "never validated")]
    tasks = [a_task(number, description="d" * 300) for number in range(1, 5)]
    config = robot.robot_config.model_copy(update={"delivery": writing(include=["tasks"]).robot.robot_config.delivery})
    with_them = robot.model_copy(update={"robot_config": config})
    found = delivery_request(done(with_tasks(*tasks, robot=with_them), *outputs), "r1").content.tasks
    assert [(task.id, task.status, task.output, task.truncated) for task in found] == [
        ("task-1", "completed", {"score": 87}, False),
        ("task-2", "completed", "87", False),
        ("task-3", "completed", TALKS[: OUTPUT - 1] + "…", True),
        ("task-4", "failed", None, False),
    ]
    assert {len(task.description) for task in found} == {200}
    assert delivery_request(done(with_tasks(*tasks, robot=robot), *outputs), "r1").content.tasks == []


def test_the_outputs_of_many_tasks_together_stay_small() -> None:
    robot = a_robot(config={"delivery": {"include": ["tasks"]}, "executor": {"continue_on_failure": True}})
    run = done(with_tasks(*(a_task(number) for number in range(1, 101)), robot=robot), *[Text(inline=TALKS)] * 100)
    found: list[DeliveredTask] = delivery_request(run, "r1").content.tasks
    assert len(found) == 100
    assert sum(len(task.output or "") for task in found) <= OUTPUTS
