"""The rehearsal model's answers, and its host."""

import json
from typing import Any

import pytest

from executor.adapters.recording_tools import RecordingProcesses, RecordingTools
from executor.adapters.rehearsal_answers import rehearse
from executor.adapters.rehearsal_model import RehearsalModel
from executor.agents.connectors import Connector
from executor.agents.operator_files import ALL_TEAMS
from executor.domain.conversation.chat import ModelReply, Tool, ToolCall
from executor.model_port import Prompt
from rota_common.testing.samples import TEAM, a_robot
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import Task
from rota_contracts.messages.process import ProcessCall
from rota_contracts.messages.trigger import Message

FACTS: dict[str, Any] = {
    "about": "Globex",
    "role": "Analyst",
    "agents": ["a", "b", "c", "d"],
    "agent": "a",
    "task": "do",
}


def tasks(**facts: Any) -> list[dict[str, Any]]:
    return list(json.loads(rehearse(FACTS | {"kind": "tasks"} | facts).text)["tasks"])


def test_the_plan_has_a_task_for_each_assistant_up_to_three() -> None:
    planned = tasks()
    assert [(task["id"], task["executor_id"]) for task in planned] == [
        ("task-1", "a"),
        ("task-2", "b"),
        ("task-3", "c"),
    ]
    assert [task.get("expected_output") for task in planned] == [None, None, "a result with a status and a score"]
    assert len([Task.model_validate(task) for task in planned]) == 3


def test_the_plan_has_tools_and_processes_too_where_there_are_some() -> None:  # EX-17 EX-19
    tools = [{"server": "ark.image", "tool": f"t{n}", "name": f"ark_image__t{n}"} for n in range(3)]
    planned = tasks(agents=["a"], tools=tools, processes=["crm.score", "crm.mail", "crm.more"])
    assert [(task["executor_type"], task["executor_id"]) for task in planned] == [
        ("assistant", "a"),
        ("mcp", "ark.image.t0"),
        ("mcp", "ark.image.t1"),
        ("process", "crm.score"),
        ("process", "crm.mail"),
    ]
    assert (planned[1]["mcp_server"], planned[1]["mcp_tool"], planned[1]["args"]) == ("ark.image", "t0", [])
    assert planned[3]["args"] == [{"about": "Globex"}]
    assert len([Task.model_validate(task) for task in planned]) == 5


def test_an_assistant_calls_its_tools_once_and_then_answers() -> None:
    facts = FACTS | {"kind": "run"}
    first = rehearse(facts, tools=["x", "y", "z"], rounds=0)
    assert (first.text, [call.name for call in first.calls]) == ("", ["x", "y"])
    assert len({call.id for call in first.calls}) == 2
    assert rehearse(facts, tools=["x"], rounds=1) == rehearse(facts)
    assert json.loads(rehearse(facts).text)["status"] == "done"


@pytest.mark.parametrize(("history", "decision"), [([], "proceed"), (["did it"], "skip")])
def test_goals_reached_before_are_skipped(history: list[str], decision: str) -> None:
    assert json.loads(rehearse({"kind": "dedup", "history": history}).text)["decision"] == decision


def test_what_is_under_way_takes_the_goals_on() -> None:  # SC-13
    others = [{"execution_id": "e7"}, {"execution_id": "e8"}]
    answer = json.loads(rehearse({"kind": "dedup", "history": [], "under_way": others, "goals": "Sell"}).text)
    assert (answer["decision"], answer["into"], answer["goals"]) == ("merge", "e7", "Sell")


async def test_other_questions_are_quoted_in_their_answers() -> None:
    prompt = Prompt([Message(content="How are you?")], Connector("r", "R", "rehearsal"), 5, "s")
    assert await RehearsalModel().complete(prompt) == ModelReply(text="Rehearsed answer to: How are you?")


async def test_recorded_tools_are_those_that_the_definition_names_on_servers_that_are_set_up() -> None:
    named = [
        {"id": "web", "tools": ["b.x", "a"]},
        {"id": "other", "tools": ["a"]},
        {"id": "all"},
        {"id": "away", "tools": ["a"]},
    ]
    robot = a_robot(config={"resources": {"mcp": named}})
    tools = RecordingTools({"web": frozenset({TEAM}), "all": ALL_TEAMS, "other": frozenset({"globex"})})
    assert await tools.list(robot) == [
        Tool("web__a", "web", "a", idempotent=True),
        Tool("web__b_x", "web", "b.x", idempotent=True),
    ]
    use = ToolUse(step_id="s", name="web__a", server="web", tool="a", arguments={"n": "ä"})
    assert json.loads(await tools.call(use, team=TEAM)) == {"recorded": True, "tool": "a", "arguments": {"n": "ä"}}
    call = ProcessCall(step_id="s", team_id="t", member_id="m", execution_id="e", task_id="t", args=[1])
    recorded = json.loads(await RecordingProcesses().call("crm.score", call, timeout=1))
    assert recorded == {"recorded": True, "process": "crm.score", "arguments": [1]}


def test_a_reply_survives_http() -> None:
    said = ModelReply(text="x", calls=[ToolCall(id="1", name="n", arguments={"a": 1})])
    assert ModelReply.model_validate_json(said.model_dump_json()) == said
