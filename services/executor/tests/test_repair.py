"""The repair of plans against the robot's resources (EX-16, EX-19, EX-26)."""

import json
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED
from services.executor.tests.harness import TOOLS

from executor.domain.conversation.chat import Tool
from executor.domain.planning.parsing import UnusableAnswer
from executor.domain.planning.plan import plan
from executor.domain.planning.resources import resources
from rota_common.testing.samples import a_robot
from rota_contracts.messages.execution import Task
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.robots.robot import Robot

HAS = (
    "it has assistant experts.writer, assistant experts.scorer, mcp crm.lookup, mcp crm.note, "
    "mcp ark.image.text2img.draw, process crm.pay, process crm.ping"
)


def planned(*raw: dict[str, Any], robot: Robot = EQUIPPED, tools: Any = TOOLS, known: Any = ()) -> Any:
    text = json.dumps({"tasks": list(raw)})
    return plan(text, robot=robot, trigger=TriggerType.EVENT, tools=tools, known=known)


def one(**raw: Any) -> tuple[Task, list[str]]:
    (task,), notes = planned({"id": "t"} | raw)
    return task, notes


def refused(*raw: dict[str, Any], **given: Any) -> str:
    with pytest.raises(UnusableAnswer) as refusal:
        planned(*raw, **given)
    return str(refusal.value)


def test_what_is_named_in_full_is_taken_without_a_note(subtests: pytest.Subtests) -> None:  # EX-19
    cases = [
        ({"executor_type": "assistant", "executor_id": "experts.writer"}, "assistant experts.writer"),
        ({"executor_type": "mcp", "executor_id": "crm.lookup"}, "mcp crm.lookup"),
        ({"executor_type": "process", "executor_id": "crm.pay"}, "process crm.pay"),
        ({"executor_id": "crm.lookup"}, "mcp crm.lookup"),
        ({"executor_id": "crm.pay"}, "process crm.pay"),
        ({"mcp_server": "crm", "mcp_tool": "note"}, "mcp crm.note"),
        ({"mcp_server": "ark.image.text2img", "mcp_tool": "draw"}, "mcp ark.image.text2img.draw"),
        ({"executor_id": "ark.image.text2img.draw"}, "mcp ark.image.text2img.draw"),
    ]
    for raw, means in cases:
        with subtests.test(raw=raw, means=means):
            task, notes = one(**raw)
            assert f"{task.executor_type} {task.executor_id}" == means
            assert [note for note in notes if "asked for no executor" not in note] == []


def test_what_is_named_in_part_or_of_the_wrong_type_is_mended_and_noted(subtests: pytest.Subtests) -> None:
    cases = [
        ({"executor_id": "writer"}, "assistant experts.writer"),
        ({"executor_id": "Experts.Writer"}, "assistant experts.writer"),
        ({"executor_id": "Experts Writer"}, "assistant experts.writer"),
        ({"executor_type": "mcp", "executor_id": "crm_lookup"}, "mcp crm.lookup"),
        ({"executor_id": "lookup"}, "mcp crm.lookup"),
        ({"executor_id": "draw"}, "mcp ark.image.text2img.draw"),
        ({"executor_id": "pay"}, "process crm.pay"),
        ({"executor_type": "tool", "executor_id": "lookup"}, "mcp crm.lookup"),
        ({"executor_type": "mcp_tool", "executor_id": "crm.note"}, "mcp crm.note"),
        ({"executor_type": "function", "executor_id": "crm.ping"}, "process crm.ping"),
        ({"executor_type": "agent", "executor_id": "scorer"}, "assistant experts.scorer"),
        ({"executor_type": "LLM", "executor_id": "scorer"}, "assistant experts.scorer"),
        ({"executor_type": "ASSISTANT", "executor_id": "scorer"}, "assistant experts.scorer"),
        ({"executor_type": "magic", "executor_id": "crm.pay"}, "process crm.pay"),
        ({"executor_type": "assistant", "executor_id": "crm.lookup"}, "mcp crm.lookup"),
        ({"executor_type": "process", "executor_id": "experts.writer"}, "assistant experts.writer"),
        ({"executor_type": "mcp", "executor_id": "crm.pay"}, "process crm.pay"),
    ]
    for raw, means in cases:
        with subtests.test(raw=raw, means=means):
            task, notes = one(**raw)
            assert f"{task.executor_type} {task.executor_id}" == means
            asked = " ".join(str(raw[key]) for key in ("executor_type", "executor_id") if key in raw)
            assert notes == [f"plan: task t asked for {asked}, given to {means}"]


def test_what_the_robot_does_not_have_is_refused_with_all_that_it_has(subtests: pytest.Subtests) -> None:
    cases = [
        ({"executor_id": "unknown"}, "'unknown'"),
        ({"executor_id": "experts"}, "'experts'"),
        ({"executor_id": "crm"}, "'crm'"),
        ({"executor_type": "mcp", "executor_id": "crm.delete"}, "mcp 'crm.delete'"),
        ({"executor_type": "process", "executor_id": "shell"}, "process 'shell'"),
        ({"executor_type": "mcp"}, "mcp ''"),
        ({}, "''"),
    ]
    for raw, named in cases:
        with subtests.test(raw=raw, named=named):
            assert refused({"id": "t"} | raw) == f"task t names {named}, which this robot doesn't have: {HAS}"  # EX-26


def test_a_tool_of_a_robots_server_that_the_server_does_not_have_is_refused() -> None:  # EX-26
    reason = refused({"id": "t", "mcp_server": "ark.image.text2img", "mcp_tool": "delete"})
    assert reason.endswith(HAS)


def test_without_a_listing_every_tool_of_an_open_server_may_be_named() -> None:  # EX-26
    has = resources(EQUIPPED, None)
    assert has.open_servers == {"ark.image.text2img"}
    assert "mcp crm.lookup" in has.names()
    assert "text2img" not in has.names()


def test_the_longest_name_of_a_server_is_the_one_that_was_meant() -> None:  # EX-19
    robot = a_robot(config={"resources": {"mcp": [{"id": "ark"}, {"id": "ark.image"}]}})
    tools = [Tool("a", "ark", "image.draw"), Tool("b", "ark.image", "paint")]
    (task, other), _ = planned(
        {"executor_id": "ark.image.paint"}, {"executor_id": "ark.image.draw"}, robot=robot, tools=tools
    )
    assert (task.mcp_server, task.mcp_tool) == ("ark.image", "paint")
    assert (other.mcp_server, other.mcp_tool) == ("ark", "image.draw")


@pytest.mark.parametrize("args", [{"name": "Globex"}, [{"name": "Globex"}]])
def test_a_tool_takes_its_arguments_as_an_object_however_they_are_wrapped(args: Any) -> None:
    assert one(executor_id="crm.lookup", args=args)[0].args == [{"name": "Globex"}]


def test_a_process_takes_a_list_however_it_is_written(subtests: pytest.Subtests) -> None:
    for args, listed in [("Globex", ["Globex"]), ([1, "b"], [1, "b"]), ({}, []), (None, [])]:
        with subtests.test(args=args, listed=listed):
            assert one(executor_id="crm.pay", args=args)[0].args == listed


def test_a_tool_with_arguments_that_have_no_names_is_refused() -> None:
    reason = refused({"executor_id": "crm.lookup", "args": ["Globex"]})
    assert reason == "expected args of a task of type mcp as one object of named arguments, got ['Globex']"


@pytest.mark.parametrize(("tool", "idempotent"), [("crm.lookup", True), ("crm.note", False), ("crm.ping", True)])
def test_what_may_be_called_again_is_what_was_declared_so_and_not_what_a_planner_says(
    tool: str, idempotent: bool
) -> None:
    assert one(executor_id=tool, idempotent=not idempotent)[0].idempotent is idempotent


def test_new_tasks_never_take_the_name_or_the_place_of_those_that_stay() -> None:
    (done,), _ = planned({"id": "t", "executor_id": "writer"})
    (task,), notes = planned({"id": "t", "executor_id": "writer"}, known=[done])
    assert (task.id, task.order) == ("t-2", 2)
    assert "plan: a second task called t is now t-2" in notes


def test_a_plan_may_say_that_there_is_nothing_to_do(subtests: pytest.Subtests) -> None:  # EX-29
    cases = [
        ('{"tasks": [], "reason": "no new leads"}', "no new leads"),
        ('{"nothing_to_do": "all done"}', "all done"),
        ('{"nothing_to_do": true, "reason": "weekend"}', "weekend"),
        ('{"nothing_to_do": true}', "nothing is worth doing now"),
    ]
    for text, reason in cases:
        with subtests.test(text=text, reason=reason):
            assert plan(text, robot=EQUIPPED, trigger=TriggerType.CLOCK) == reason
