"""Plans are made runnable before they are kept: rules that can't be checked, unknown executors, wrong arguments."""

import json
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED, advance_until, at, new_run
from services.executor.tests.harness import LOOKUP, NOTE, ScriptedModel, StepHarness

from executor.agents.sections.means import listed_tools
from executor.domain import lifecycle
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.outcomes import Outcome, Planned, Unusable
from executor.domain.planning.arguments import outline, problem
from executor.domain.planning.interpret import LargeTexts, interpret
from executor.domain.run import JournalEntry, Run
from executor.domain.steps import AskAgent
from executor.reads.replay import replay
from rota_common.testing.samples import NOON
from rota_contracts.messages.execution import ExecStatus, Task
from rota_contracts.messages.trigger import Message, TriggerInput
from rota_contracts.robots.robot import Phase

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "limit": {"type": "integer"}, "order": {"enum": ["new", "old"]}},
    "required": ["name"],
    "additionalProperties": False,
}
TOOLS = [Tool(LOOKUP.name, LOOKUP.server, LOOKUP.tool, LOOKUP.description, SCHEMA, idempotent=True), NOTE]
LOOK_UP = {"executor_type": "mcp", "executor_id": "crm.lookup"}


def said(run: Run, *tasks: dict[str, Any]) -> Outcome:
    """What comes of a planner's answer with these tasks."""
    step = lifecycle.next_step(run)
    assert isinstance(step, AskAgent)
    return interpret(run, step, ModelReply(text=json.dumps({"tasks": [*tasks]})), TOOLS, LargeTexts())


def planning(type: str = "event", **trigger: Any) -> Run:
    return at(Phase.TASKS, run=new_run(type, robot=EQUIPPED, **trigger))


def a_raw(**fields: Any) -> dict[str, Any]:
    return {"id": "t", "description": "Write it", "executor_id": "experts.writer", **fields}


def asked_again(run: Run) -> Run:
    """The run whose planner has had one reason why its answer is no use."""
    return lifecycle.apply(run, Unusable("it names no executor"), now=NOON)


def test_a_rule_that_can_not_be_checked_is_a_note_and_never_fails_the_task(subtests: pytest.Subtests) -> None:  # EX-16
    cases = [
        ({"type": "not_empty"}, "there is no type 'not_empty' here"),
        ({"type": "agent", "use": "some.other"}, "this robot doesn't have agent 'some.other'"),
        ({"type": "contains"}, "it has no value"),
        ({"type": "not_contains", "value": ""}, "it has no value"),
        ({"type": "json_path", "value": 1}, "it has no path"),
        ({"type": "type", "value": "text"}, "its value is none of string, number, boolean, array, object, null"),
        ({"type": "script"}, "it names no script"),
        ({"type": "regex"}, "it has no pattern"),
        ({"type": "regex", "value": "(["}, "its pattern can't be read"),
        ({"value": "x"}, "it is neither a sentence nor an assertion"),
        (7, "it is neither a sentence nor an assertion"),
        (" ", "it is empty"),
    ]
    for rule, why in cases:
        with subtests.test(rule=rule, why=why):
            run = planning()
            outcome = said(run, a_raw(validation_rules=[rule, "It is polite."]))
            assert isinstance(outcome, Planned)
            assert outcome.tasks[0].validation_rules == ["It is polite."]
            (note,) = outcome.notes
            assert note.startswith(f"plan: a rule of task t is left out, {why}")
            done = advance_until(lifecycle.apply(run, outcome, now=NOON))[0].execution
            assert (done.status, note in done.notes) == (ExecStatus.COMPLETED, True)


def test_a_rule_that_can_be_checked_stays(subtests: pytest.Subtests) -> None:  # EX-18
    cases = [
        {"type": "contains", "value": "x"},
        {"type": "equals", "value": None},
        {"type": "json_path", "path": "a"},
        {"type": "type", "value": "object"},
        {"type": "regex", "value": "[0-9]+"},
        {"type": "agent", "use": "experts.writer"},
    ]
    for rule in cases:
        with subtests.test(rule=rule):
            outcome = said(planning(), a_raw(validation_rules=[rule]))
            assert isinstance(outcome, Planned)
            assert (len(outcome.tasks[0].validation_rules), outcome.notes) == (1, [])


@pytest.mark.parametrize(
    "unknown",
    [
        {"executor_id": "experts.poet"},
        {"executor_type": "mcp", "executor_id": "crm.delete"},
        {"executor_type": "process", "executor_id": "shell"},
    ],
)
def test_an_unknown_executor_is_asked_again_once_and_then_mended(unknown: dict[str, Any]) -> None:  # EX-26
    run = planning()
    first = said(run, a_raw(**unknown))
    assert isinstance(first, Unusable)
    assert "experts.writer, assistant experts.scorer" in first.reason  # it names what there is
    second = said(asked_again(run), a_raw(**unknown))
    assert isinstance(second, Planned)
    assert second.tasks[0].executor_id == "experts.writer"
    (note,) = second.notes
    assert "given to assistant experts.writer: task t names" in note
    assert (
        advance_until(lifecycle.apply(asked_again(run), second, now=NOON))[0].execution.status is ExecStatus.COMPLETED
    )


def test_arguments_that_do_not_fit_are_asked_again_once_and_then_left_to_an_assistant() -> None:  # EX-16
    wrong, run = a_raw(**LOOK_UP, args=[{"limit": "ten"}]), planning()
    first = said(run, wrong)
    assert isinstance(first, Unusable)
    assert "name is missing; limit must be of type integer, not 'ten'" in first.reason
    second = said(asked_again(run), wrong)
    assert isinstance(second, Planned)
    (task,) = second.tasks
    assert (task.executor_type, task.executor_id, task.args) == ("assistant", "experts.writer", [{"limit": "ten"}])
    right = said(run, a_raw(**LOOK_UP, args=[{"name": "Globex", "limit": 3, "order": "new"}]))
    assert isinstance(right, Planned)
    assert right.notes == []


def test_arguments_are_checked_against_the_schema(subtests: pytest.Subtests) -> None:
    cases = [
        ({"name": "A"}, ""),
        ({"name": "A", "limit": 3.0}, ""),
        ({"name": "A", "limit": True}, "limit must be of type integer, not True"),
        ({"name": None}, "name must be of type string, not None"),
        ({"name": "A", "size": 1}, "there is no size"),
        ({"name": "A", "order": "best"}, "order must be one of 'new', 'old', not 'best'"),
    ]
    for arguments, wrong in cases:
        with subtests.test(arguments=arguments, wrong=wrong):
            assert problem(arguments, SCHEMA) == wrong
            assert problem(arguments, outline(TOOLS[0])) == wrong  # a replay checks the same


def test_a_schema_that_says_nothing_refuses_nothing(subtests: pytest.Subtests) -> None:
    for schema in [
        {},
        {"properties": 7, "required": "name"},
        {"properties": {"a": True}},
        {"properties": {"a": {"type": "date"}}},
    ]:
        with subtests.test(schema=schema):
            assert problem({"a": 1}, schema) == ""


async def test_a_replay_refuses_the_same_arguments() -> None:  # F24
    plan = json.dumps({"tasks": [a_raw(**LOOK_UP, args=[{"limit": "ten"}])]})
    harness = StepHarness(ScriptedModel("## Goals", plan, plan, "done", last=CONTENT), tools=TOOLS)
    run = await harness.over(new_run(robot=EQUIPPED))
    assert run.execution.status is ExecStatus.COMPLETED
    assert [entry.kind for entry in run.unsaved][2:4] == ["Unusable", "Planned"]
    stored = [JournalEntry.model_validate_json(entry.model_dump_json()) for entry in run.unsaved]
    replayed = replay(run, stored, [entry.said.inline or "" if entry.said else "" for entry in stored])
    assert (replayed.same, replayed.difference) == (True, "")


CONTENT = '{"content": {"summary": "s", "body": "b"}}'
REQUEST = TriggerInput(messages=[Message(content="Translate into Spanish: it rains")])


def kept(run: Run, *tasks: dict[str, Any]) -> list[Task]:
    outcome = said(run, *tasks)
    assert isinstance(outcome, Planned)
    return lifecycle.apply(run, outcome, now=NOON).execution.tasks or []


def test_a_plain_request_is_itself_the_task() -> None:  # EX-16
    (task,) = kept(planning("human", input=REQUEST), a_raw())
    assert task.messages == REQUEST.messages


def test_of_several_tasks_none_is_the_whole_request() -> None:
    assert [task.messages for task in kept(planning("human", input=REQUEST), a_raw(), a_raw())] == [[], []]


def test_an_event_is_nobodys_words() -> None:
    assert [task.messages for task in kept(planning("event"), a_raw())] == [[]]


def test_of_many_tools_the_arguments_are_left_to_assistants() -> None:  # EX-38
    few, many = (
        listed_tools([Tool(f"crm__t{n}", "crm", f"t{n}", "Does it", SCHEMA) for n in range(count)])
        for count in (15, 16)
    )
    assert few.count("  arguments: name (required, string); limit (integer); order (") == 15
    assert (many.count("- crm.t"), "arguments: " in many) == (16, False)
    assert "give work that needs one of these to an assistant" in many
