"""Agents and robots as tools, for the official client of the Model Context Protocol."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import mcp
from mcp.client.streamable_http import streamable_http_client

from rota_contracts.catalog import ACTIVITY, CALL_AGENT, EXECUTION_FINISHED, LIST_AGENTS, READ_EXECUTION
from rota_contracts.messages.activity import ActivityKind, ActivityV1
from rota_contracts.messages.agent import AfterHook, AgentReply, CallAgent
from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1, ExecutionReply, ReadExecution
from rota_contracts.messages.provider import AgentCard, AgentList, ListAgents
from rota_contracts.messages.trigger import TriggerType

from .harness import ADMIN, Gateway
from .scheduler import Scheduler
from .stand_ins import AT, Executor, execution

MCP = "/v1/teams/acme/mcp"
CARDS = [
    AgentCard(id="yao.keeper", name="The keeper", description="Keeps things.", public=True),
    AgentCard(id="yao_keeper", name="Another", public=True),
    AgentCard(id="hidden", name="Hidden"),
]


def play_agents(made: Gateway, answers: Callable[[CallAgent], Awaitable[AgentReply]] | None = None) -> list[CallAgent]:
    """An executor whose agents answer; its calls."""
    calls: list[CallAgent] = []

    async def cards(question: ListAgents) -> AgentList:
        return AgentList(agents=CARDS if question.team_id == "acme" else [])

    async def answer(call: CallAgent) -> AgentReply:
        calls.append(call)
        if "fail" in call.messages[0].text():
            return AgentReply(agent_id=call.assistant_id, error="the model says no")
        after = AfterHook(next={"sure": True}) if "hook" in call.messages[0].text() else None
        found: Any = {"content": '{"kind": "bill"}', "response": {"kind": "bill"}}
        return AgentReply(agent_id=call.assistant_id, hooked=after, **found)

    made.bus.answer(LIST_AGENTS, cards)
    made.bus.answer(CALL_AGENT, answers or answer)
    return calls


@asynccontextmanager
async def client(made: Gateway, *, key: str = "", path: str = MCP) -> AsyncIterator[mcp.ClientSession]:
    """A session of the official client."""
    headers = {"authorization": f"Bearer {key or made.key}"}
    transport = httpx.ASGITransport(made.fastapi)
    async with (
        httpx.AsyncClient(transport=transport, headers=headers) as http,
        streamable_http_client(f"http://gateway{path}", http_client=http) as (read, write, _),
        mcp.ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


def text_of(result: mcp.types.CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, mcp.types.TextContent)
    return content.text


async def test_agents_and_robots_are_tools(acme: Gateway, scheduler: Scheduler) -> None:
    play_agents(acme)
    async with client(acme) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert [name.rpartition("_")[0] if name.startswith("ask_yao_keeper_") else name for name in tools] == [
            *("ask_yao_keeper", "ask_yao_keeper", "run_leader", "execution_status", "cancel_execution")
        ]
        assert len(tools) == 5
        assert tools["ask_yao_keeper"].description == "Asks The keeper, and waits for the answer. Keeps things."
        assert tools["ask_yao_keeper"].inputSchema["required"] == ["message"]
        assert "Lead Qualification Specialist" in (tools["run_leader"].description or "")
    viewer = await acme.make_key("viewer")
    async with client(acme, key=viewer) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["execution_status"]
        refused = await session.call_tool("ask_yao_keeper", {"message": "Hello?"})
        assert (refused.isError, "no tool ask_yao_keeper for this key" in text_of(refused)) == (True, True)


async def test_an_agent_is_asked(acme: Gateway, scheduler: Scheduler) -> None:
    calls = play_agents(acme)
    async with client(acme) as session:
        answer = await session.call_tool("ask_yao_keeper", {"message": "Classify this.", "chat_id": "c1"})
        assert (answer.isError, text_of(answer)) == (False, '{"kind": "bill"}')
        assert answer.structuredContent == {
            "agent_id": "yao.keeper",
            "chat_id": "c1",
            "content": '{"kind": "bill"}',
            "response": {"kind": "bill"},
        }
        hooked = await session.call_tool("ask_yao_keeper", {"message": "With a hook."})
        assert (hooked.structuredContent or {})["response"]["next"] == {"sure": True}
        failed = await session.call_tool("ask_yao_keeper", {"message": "Please fail."})
        assert (failed.isError, text_of(failed)) == (True, "agent yao.keeper has no answer: the model says no")
        wrong = await session.call_tool("ask_yao_keeper", {"massage": "Hello?"})
        assert (wrong.isError, "message: Field required" in text_of(wrong)) == (True, True)
    assert [(call.team_id, call.assistant_id) for call in calls] == [("acme", "yao.keeper")] * 3


async def test_a_robot_is_run_followed_and_cancelled(acme: Gateway, scheduler: Scheduler, executor: Executor) -> None:
    play_agents(acme)
    async with client(acme) as session:
        given = {"message": "Score the leads.", "request_id": "r1"}
        first, again = [await session.call_tool("run_leader", given) for _ in range(2)]
        assert first.structuredContent is not None
        run = str(first.structuredContent["execution_id"])
        assert again.structuredContent is not None
        assert again.structuredContent["execution_id"] == run
        [trigger] = {each.trigger_id: each for each in acme.triggers()}.values()
        assert (trigger.type, trigger.input.messages[0].text()) == (TriggerType.HUMAN, "Score the leads.")

        queued = await session.call_tool("execution_status", {"execution_id": run})
        assert queued.structuredContent == {"execution_id": run, "status": "pending"}
        executor.give(run)
        status = await session.call_tool("execution_status", {"execution_id": run})
        assert status.structuredContent is not None
        assert (status.structuredContent["status"], status.structuredContent["phase"]) == ("running", "run")
        cancelled = await session.call_tool("cancel_execution", {"execution_id": run, "reason": "enough"})
        assert not cancelled.isError, text_of(cancelled)
        audit = await acme.call("GET", "/v1/teams/acme/audit")
        newest = audit.json()["entries"][0]
        assert (newest["action"], newest["on"]["execution_id"]) == ("stop_execution", run)
        unknown = await session.call_tool("execution_status", {"execution_id": "another's"})
        assert (unknown.isError, "has no execution another's" in text_of(unknown)) == (True, True)


async def test_an_execution_is_waited_for_with_its_progress(acme: Gateway, scheduler: Scheduler) -> None:
    play_agents(acme)
    of: dict[str, Any] = {"team_id": "acme", "member_id": "leader", "execution_id": "e1"}
    seen: list[tuple[float, str | None]] = []

    async def progress(count: float, total: float | None, text: str | None) -> None:
        seen.append((count, text))

    reads = 0

    async def read(question: ReadExecution) -> ExecutionReply:
        """After the first read a task begins, and the run ends."""
        nonlocal reads
        reads += 1
        if reads > 1:
            return ExecutionReply(execution=execution("e1", status=ExecStatus.COMPLETED))
        task = ActivityV1(**of, kind=ActivityKind.TASK_STARTED, phase="run", text="scores the leads", at=AT)
        await acme.bus.publish(ACTIVITY, task, caused_by="e1")
        over = ExecutionFinishedV1(**of, trigger_id="t1", status=ExecStatus.COMPLETED, finished_at=AT)
        await acme.bus.publish(EXECUTION_FINISHED, over, caused_by="e1")
        return ExecutionReply(execution=execution("e1"))

    acme.bus.answer(READ_EXECUTION, read)
    async with client(acme) as session:
        asked = {"execution_id": "e1", "wait": 30}
        ended = await session.call_tool("execution_status", asked, progress_callback=progress)
        assert ended.structuredContent is not None
        assert ended.structuredContent["status"] == "completed"
        assert seen == [(1, "run: scores the leads")]


async def test_other_teams_and_other_methods_are_refused(acme: Gateway) -> None:
    calls = play_agents(acme)
    stranger = await acme.make_team("other")
    initialize = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for key, status in ((stranger, 403), ("wrong", 401)):
        assert (await acme.call("POST", MCP, key=key, json=initialize)).status_code == status
    assert (await acme.call("GET", MCP)).status_code == 405
    async with client(acme, key=stranger, path="/v1/teams/other/mcp") as session:
        names = [tool.name for tool in (await session.list_tools()).tools]
        assert names == ["execution_status", "cancel_execution"]
        assert (await session.call_tool("ask_yao_keeper", {"message": "Hello?"})).isError
    assert calls == []
    plain = await acme.call("POST", MCP, key=ADMIN, json=initialize, headers={"accept": "application/json"})
    assert "run_leader" in [tool["name"] for tool in plain.json()["result"]["tools"]], "as JSON for curl"
