"""The whole executor on adapters and a bus in memory: what it consumes, publishes and answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED
from services.executor.tests.harness import LOOKUP, calls

from executor.adapters.in_memory import (
    InMemoryRobots,
    ScriptedModel,
    ScriptedPages,
    ScriptedProcesses,
    ScriptedTools,
    in_memory,
)
from executor.app import build
from executor.file_ports import Page
from executor.ports import Adapters
from executor.settings import Settings
from rota_common.errors import Permanent
from rota_common.runtime.service import Runtime
from rota_common.runtime.traces import trace_id
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts import catalog
from rota_contracts.envelope import MSG_ID
from rota_contracts.messages.control import Control, ControlAction, ControlReply, Intervene, InterveneReply
from rota_contracts.messages.delivery import DeliveryAcceptedV1, DeliveryResult, MayDeliver, Permission
from rota_contracts.messages.execution import (
    ExecStatus,
    Execution,
    ExecutionRequestedV1,
    ListExecutions,
    ReadExecution,
)
from rota_contracts.messages.executor_capacity import CheckSlots
from rota_contracts.messages.learning import LearningCompletedV1
from rota_contracts.messages.memory import Recall, RecallReply
from rota_contracts.messages.process import ProcessCall
from rota_contracts.messages.provider import Capability, ListAgents, ListProviders, ProviderList
from rota_contracts.messages.replay import ReplayExecution
from rota_contracts.messages.robot_check import CheckRobot
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import InterventionAction, Message
from rota_contracts.messages.validation import Assertion, CheckRules, RulesReply, ValidationResult
from rota_contracts.robots.robot import Robot

OWNER = {"team_id": TEAM, "member_id": MEMBER}
GOOD = ValidationResult(passed=True, score=0.9)


@asynccontextmanager
async def executor(
    adapters: Adapters, checked: list[CheckRules] | None = None, *, agents: Path | None = None
) -> AsyncIterator[InMemoryBus]:
    """A running executor; the memory and the validator answer. `checked` gets what the validator was asked."""

    async def recall(request: Recall) -> RecallReply:
        return RecallReply()

    async def check(request: CheckRules) -> RulesReply:
        if checked is not None:
            checked.append(request)
        return RulesReply(verdict=GOOD)

    made = InMemoryBus()
    made.answer(catalog.RECALL, recall)
    made.answer(catalog.CHECK_RULES, check)
    settings = Settings(connector="rehearsal", agents_dir=agents)
    app = build(settings, runtime=Runtime(bus=made), adapters=adapters)
    await app.service.start()
    await app.service.started.wait()
    yield made
    await app.service.stop(1)


@pytest.fixture
async def bus() -> AsyncIterator[InMemoryBus]:
    """Of an executor with one robot."""
    async with executor(in_memory(a_robot())) as made:
        yield made


async def request(bus: InMemoryBus, execution_id: str = "e1") -> None:
    fact = ExecutionRequestedV1(execution_id=execution_id, trigger=a_trigger(), requested_at=NOON, **OWNER)
    await bus.publish(catalog.EXECUTION_REQUESTED, fact, caused_by="t1")
    await bus.settled()


class Unreadable(InMemoryRobots):
    """Robots that can't be read until they are `mended`."""

    mended = False

    async def find(self, team: str, member: str) -> Robot | None:
        if not self.mended:
            raise Permanent("the robot can't be read")
        return await super().find(team, member)


async def test_a_buried_request_that_is_sent_back_starts_nothing() -> None:
    bus, robots = InMemoryBus(), Unreadable(a_robot())
    app = build(Settings(connector="rehearsal"), runtime=Runtime(bus=bus), adapters=in_memory(a_robot(), robots=robots))
    await app.service.start()
    await app.service.started.wait()
    await request(bus)
    (end,) = bus.facts(catalog.EXECUTION_FINISHED)
    assert (end.data.status, len(bus.dead)) == (ExecStatus.FAILED, 1)
    (asked,) = bus.facts(catalog.EXECUTION_REQUESTED)
    assert trace_id(end.traceparent) == trace_id(asked.traceparent)
    robots.mended = True
    again = asked.headers() | {MSG_ID: "redriven"}
    await bus.store(catalog.EXECUTION_REQUESTED.subject(TEAM, MEMBER), asked.body(), again)
    await bus.settled()
    page = await bus.ask(catalog.LIST_EXECUTIONS, ListExecutions(team_id=TEAM))
    await app.service.stop(1)
    assert (page.total, bus.facts(catalog.EXECUTION_STARTED)) == (0, [])
    assert len(bus.facts(catalog.EXECUTION_FINISHED)) == 1


async def deliver(bus: InMemoryBus) -> None:
    (asked,) = (event.data for event in bus.facts(catalog.DELIVERY_REQUESTED))
    result = DeliveryResult(request_id=asked.request_id, content=asked.content, success=True)
    accepted = DeliveryAcceptedV1(request_id=asked.request_id, execution_id="e1", result=result, **OWNER)
    await bus.publish(catalog.DELIVERY_ACCEPTED, accepted, caused_by=asked.request_id)
    await bus.settled()


async def execution(bus: InMemoryBus, team: str = TEAM) -> Execution | None:
    return (await bus.ask(catalog.READ_EXECUTION, ReadExecution(team_id=team, execution_id="e1"))).execution


async def test_a_run_goes_from_its_slot_to_its_lessons(bus: InMemoryBus) -> None:
    await request(bus)
    assert [event.data.context.rehearsed for event in bus.facts(catalog.DELIVERY_REQUESTED)] == [True]
    await deliver(bus)
    learnt = LearningCompletedV1(execution_id="e1", skipped="nothing new", **OWNER)
    await bus.publish(catalog.LEARNING_COMPLETED, learnt, caused_by="e1")
    await bus.settled()
    done = await execution(bus)
    assert done is not None
    assert (done.status, done.error) == (ExecStatus.COMPLETED, None)
    assert [event.data.status for event in bus.facts(catalog.EXECUTION_FINISHED)] == [ExecStatus.COMPLETED]
    assert len(bus.facts(catalog.EXECUTION_STARTED)) == 1
    assert bus.dead == []
    assert (await bus.ask(catalog.REPLAY, ReplayExecution(team_id=TEAM, execution_id="e1"))).same
    (state,) = (await bus.ask(catalog.CHECK_SLOTS, CheckSlots(execution_ids=["e1"]))).slots
    assert state.status is ExecStatus.COMPLETED


async def test_a_team_reads_its_own_executions_only(bus: InMemoryBus) -> None:  # TG-23
    await request(bus)
    assert await execution(bus, "initech") is None
    assert (await bus.ask(catalog.LIST_EXECUTIONS, ListExecutions(team_id=TEAM))).total == 1
    assert (await bus.ask(catalog.LIST_EXECUTIONS, ListExecutions(team_id="initech"))).total == 0
    for refused in ({"page": 1001}, {"after": "no cursor"}):
        with pytest.raises(Permanent, match="after"):
            await bus.ask(catalog.LIST_EXECUTIONS, ListExecutions.model_validate({"team_id": TEAM} | refused))
    assert not (await bus.ask(catalog.REPLAY, ReplayExecution(team_id="initech", execution_id="e1"))).found


async def test_a_stopped_run_ends_and_may_not_be_delivered(bus: InMemoryBus) -> None:  # TG-16 F11
    await request(bus)
    permission = MayDeliver(team_id=TEAM, execution_id="e1")
    assert (await bus.ask(catalog.MAY_DELIVER, permission)).leave is Permission.ALLOW
    stop = Control(request_id="r1", team_id=TEAM, execution_id="e1", action=ControlAction.STOP, reason="no more")
    assert (await bus.ask(catalog.CONTROL, stop)).execution_ids == ["e1"]
    assert (await bus.ask(catalog.MAY_DELIVER, permission)).leave is Permission.DENY
    assert (await bus.ask(catalog.CONTROL, stop)).execution_ids == ["e1"]  # the same request is the same signal


async def test_a_deleted_robots_run_is_cancelled(bus: InMemoryBus) -> None:  # TG-20
    await request(bus)
    await bus.publish(catalog.ROBOT_DELETED, RobotDeletedV1(rev=2, **OWNER), caused_by="delete")
    await bus.settled()
    (finished,) = bus.facts(catalog.EXECUTION_FINISHED)
    assert (finished.data.status, finished.data.error) == (ExecStatus.CANCELLED, "the robot was deleted")


async def test_an_execution_of_an_unknown_robot_is_cancelled(bus: InMemoryBus) -> None:
    owner = {"team_id": TEAM, "member_id": "unknown"}
    fact = ExecutionRequestedV1(execution_id="e2", trigger=a_trigger(**owner), requested_at=NOON, **owner)
    await bus.publish(catalog.EXECUTION_REQUESTED, fact, caused_by="t2")
    await bus.settled()
    (finished,) = bus.facts(catalog.EXECUTION_FINISHED)
    assert finished.data.status is ExecStatus.CANCELLED


async def intervene(bus: InMemoryBus, number: int, size: int) -> InterveneReply:
    words = Message(content="x" * size)
    action = InterventionAction.INSTRUCT
    return await bus.ask(
        catalog.INTERVENE, Intervene(intervention_id=f"i{number}", action=action, messages=[words], **OWNER)
    )


async def test_a_paused_run_that_is_full_of_interventions_can_still_be_stopped(bus: InMemoryBus) -> None:
    async def command(action: ControlAction, number: int = 0) -> ControlReply:
        asked = Control(request_id=f"{action}-{number}", team_id=TEAM, execution_id="e1", action=action)
        return await bus.ask(catalog.CONTROL, asked)

    await request(bus)
    await command(ControlAction.PAUSE)
    with pytest.raises(Permanent, match="expected at most 256 KB"):
        await intervene(bus, 99, 300_000)
    replies = [await intervene(bus, number, 200_000) for number in range(15)]
    assert [reply.execution_id for reply in replies[:9]] == ["e1"] * 9
    assert "it has got all that it may" in replies[-1].refused
    assert (await command(ControlAction.STOP)).execution_ids == ["e1"]
    await bus.settled()
    over = await until(bus, ExecStatus.CANCELLED)
    assert over.status is ExecStatus.CANCELLED
    replayed = await bus.ask(catalog.REPLAY, ReplayExecution(team_id=TEAM, execution_id="e1"))
    assert replayed.same, replayed.difference


async def until(bus: InMemoryBus, status: ExecStatus) -> Execution:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await execution(bus)
            if found is not None and found.status is status:
                return found
            await asyncio.sleep(0)


async def test_what_only_a_run_that_starts_can_use_is_refused_by_one_under_way(bus: InMemoryBus) -> None:  # TG-06
    await request(bus)
    words = [Message(content="Go on.")]
    given = {"intervention_id": "i1", "action": InterventionAction.INSTRUCT, "messages": words, **OWNER}
    reply = await bus.ask(catalog.INTERVENE, Intervene.model_validate(given | {"starts": ["executor_mode"]}))
    assert (reply.execution_id, reply.refused) == (None, "e1 has begun, executor_mode can't change any more")


async def test_thoughts_are_in_no_delivery_and_a_call_in_text_reaches_its_tool() -> None:  # EX-45, EX-47, EX-74
    thought = "<think>The customer is a fool.</think>"
    model = ScriptedModel(
        f'{thought}{{"content": "Score it"}}',
        f'{thought}{{"tasks": [{{"description": "Look", "executor_id": "experts.writer"}}]}}',
        f'{thought}<tool_call>{{"name": "lookup", "arguments": {{"name": "A"}}}}</tool_call>',
        f"{thought}87",
        f"{thought}# Done\n\nIt is <final>87</final>.",
    )
    tools = ScriptedTools([LOOKUP])
    async with executor(in_memory(EQUIPPED, rehearsal=model, tools=tools)) as bus:
        await request(bus)
        await deliver(bus)
        (asked,) = bus.facts(catalog.DELIVERY_REQUESTED)
        replayed = await bus.ask(catalog.REPLAY, ReplayExecution(team_id=TEAM, execution_id="e1"))
    assert (asked.data.content.summary, asked.data.content.body.inline) == ("It is 87.", "# Done\n\nIt is 87.")
    assert [(use.tool, use.arguments) for use in tools.calls] == [("lookup", {"name": "A"})]
    assert (replayed.same, replayed.difference) == (True, "")


async def test_agents_fetch_and_search_as_the_platforms_file_says(tmp_path: Path) -> None:  # CL-17 CL-20
    (tmp_path / "agent.yml").write_text("uses: {fetch: builtin, web: experts.reader}")
    (tmp_path / "experts.reader.md").write_text("---\nteams: ['*']\n---\nSearch.")
    model = ScriptedModel(
        '{"content": "Score it"}',
        '{"tasks": [{"description": "Look", "executor_id": "experts.writer"}]}',
        calls(("fetch", {"url": "https://example.com/"}), ("web_search", {"query": "prices"})),
        "It costs 9.",
        "9",
        "# Done",
    )
    pages = ScriptedPages()
    pages.there["https://example.com/"] = Page("https://example.com/", "text/html", "The plan costs 9.")
    async with executor(in_memory(EQUIPPED, rehearsal=model, pages=pages), agents=tmp_path) as bus:
        await request(bus)
        await bus.settled()
        replayed = await bus.ask(catalog.REPLAY, ReplayExecution(team_id=TEAM, execution_id="e1"))
        done = await execution(bus)
    assert done is not None
    (use, other) = done.results[0].turns[0].rounds[0].uses
    assert (use.output and use.output.inline) == "source: https://example.com/\n\nThe plan costs 9."
    assert (other.server, other.output and other.output.inline) == ("rota.agent.experts.reader", "It costs 9.")
    assert (replayed.same, replayed.difference) == (True, "")


async def test_a_search_before_a_task_is_made_once_and_replays_the_same(tmp_path: Path) -> None:  # CL-19 CL-21
    (tmp_path / "agent.yml").write_text("uses: {search: builtin, web: experts.reader}")
    (tmp_path / "experts.reader.md").write_text("---\nteams: ['*']\n---\nSearch.")
    model = ScriptedModel(
        '{"content": "Score it"}',
        '{"tasks": [{"description": "What does Globex cost?", "executor_id": "experts.writer"}]}',
        '{"search": true}',
        '{"keywords": ["Globex", "price"]}',
        "I can't make that query.",
        "It costs 9, says https://globex.example/.",
        "It costs 9.",
        "# Done",
    )
    async with executor(in_memory(EQUIPPED, rehearsal=model), agents=tmp_path) as bus:
        await request(bus)
        await bus.settled()
        replayed = await bus.ask(catalog.REPLAY, ReplayExecution(team_id=TEAM, execution_id="e1"))
        done = await execution(bus)
    assert done is not None
    asked = [prompt.messages[-1].text() for prompt in model.prompts]
    assert ["Must something be searched for" in asked[2], "Make the keywords" in asked[3]] == [True, True]
    assert asked[5].endswith("and where it stands:\nGlobex price")
    assert "[1] source: experts.reader\nIt costs 9, says https://globex.example/." in asked[6]
    assert [note for note in done.notes if note.startswith("search: ")] == [
        "search: went on without querydsl: agent rota.querydsl: expected an answer in JSON with query, collections, "
        "limit, min_score"
    ]
    assert (done.results[0].output, done.usage.calls) == (Text(inline="It costs 9."), 0)
    assert (replayed.same, replayed.difference) == (True, "")


async def test_an_assistants_hook_calls_an_agent_and_changes_its_answer(tmp_path: Path) -> None:  # EX-87 EX-98
    (tmp_path / "experts.writer.md").write_text("---\nteams: ['*']\nhooks: {next: crm.check}\n---\nWrite.")
    (tmp_path / "experts.judge.md").write_text("---\nteams: ['*']\n---\nJudge.")
    call = {"agent_id": "experts.judge", "messages": [{"content": "Is it good?"}]}

    async def check(name: str, call_of: ProcessCall) -> str:
        given: Any = call_of.args[0]
        results = given["results"]
        return json.dumps({"content": f"9, {results[0]['content']}"} if results else {"call": call})

    plan = '{"tasks": [{"description": "Look", "executor_id": "experts.writer"}]}'
    model = ScriptedModel('{"content": "Score it"}', plan, "9", "well judged", "# Done")
    adapters = in_memory(EQUIPPED, rehearsal=model, processes=ScriptedProcesses(answer=check))
    async with executor(adapters, agents=tmp_path) as bus:
        await request(bus)
        await bus.settled()
        done = await execution(bus)
    assert done is not None
    output = done.results[0].output
    assert (output and output.inline) == "9, well judged"


async def test_the_owners_rules_are_checked_for_each_result() -> None:  # VA-01
    asked: list[CheckRules] = []
    rules = [{"type": "not_contains", "value": "refund"}, "Is it friendly?"]
    robot = a_robot(config={"executor": {"validation_rules": rules, "planning": "always"}})
    async with executor(in_memory(robot), asked) as bus:
        await request(bus)
    assert asked
    wanted = [Assertion(type="not_contains", value="refund"), "Is it friendly?"]
    assert {tuple(map(str, each.rules[-2:])) for each in asked} == {tuple(map(str, wanted))}


async def test_agents_and_mcp_servers_that_are_not_there_are_named(bus: InMemoryBus) -> None:
    """The agents of the platform are there; so is what stands in for an assistant, which is said."""
    phases = {"goals": "rota.goals", "tasks": "acme.planner"}
    robot = a_robot(
        config={"resources": {"agents": ["experts.writer", "rota.run", "experts.scorer"], "phases": phases}}
    )
    found = await bus.ask(catalog.CHECK_ROBOT, CheckRobot(robot=robot))
    assert [problem.partition(":")[0] for problem in found.problems] == [
        "there is no agent acme.planner here, so runs fail at tasks",
        "there is no file of experts.writer, experts.scorer here, so a general assistant does their tasks",
    ]
    tools = ScriptedTools()
    tools.missing = ["MCP server crm isn't set up here, so there are no tools of it"]
    async with executor(replace(in_memory(a_robot()), tools=tools)) as other:
        assert (await other.ask(catalog.CHECK_ROBOT, CheckRobot(robot=a_robot()))).problems == tools.missing


async def test_connectors_and_agents_are_listed_for_a_team(bus: InMemoryBus) -> None:  # CL-14
    found = await bus.ask(catalog.LIST_PROVIDERS, ListProviders(team_id=TEAM, filters=[Capability.JSON]))
    assert [(each.id, each.type) for each in found.providers] == [("openai", "openai")]
    of_agent = await bus.ask(catalog.LIST_PROVIDERS, ListProviders(team_id=TEAM, agent_id="rota.goals"))
    assert [each.id for each in of_agent.providers] == ["anthropic", "openai", "rehearsal"]
    unknown = await bus.ask(catalog.LIST_PROVIDERS, ListProviders(team_id=TEAM, agent_id="experts.unknown"))
    assert unknown == ProviderList(
        problem="there is no agent experts.unknown: `rota agents list` shows those that there are"
    )
    agents = (await bus.ask(catalog.LIST_AGENTS, ListAgents(team_id=TEAM))).agents
    assert {"rota.goals", "rota.validation"} <= {card.id for card in agents if card.built_in}


async def test_what_is_said_of_missing_servers_holds_no_secret() -> None:
    tools = ScriptedTools()
    tools.missing = ["its tools are left out: the server answered 401 to only-ours-417"]
    adapters = replace(in_memory(a_robot()), tools=tools, known_secrets=lambda team: ["only-ours-417"])
    async with executor(adapters) as bus:
        (problem,) = (await bus.ask(catalog.CHECK_ROBOT, CheckRobot(robot=a_robot()))).problems
    assert problem == "its tools are left out: the server answered 401 to [REDACTED]"
