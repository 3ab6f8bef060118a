"""Calls of agents with tools, without a run: over NATS, with a store in MongoDB and a real MCP server."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rota_common.bus.rpc import call_long
from rota_common.testing.mcp_server import MCPServer, ScriptedTool, mcp_server
from rota_common.testing.openai_server import Completion, ModelRequest, OpenAIServer, openai_server
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.processes import Processes
from rota_common.testing.samples import TEAM
from rota_contracts import catalog
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.trigger import Message
from rota_contracts.model import ALL
from tests.integration.executor.harness import Harness, scripted

BILLS = "Bills: one of May, one of June."


@pytest.fixture
async def shop() -> AsyncIterator[MCPServer]:
    async def find(arguments: dict[str, Any]) -> str:
        return json.dumps({"found": arguments, "key": "sk-live-0123456789abcdef0123456789"})

    async with mcp_server([ScriptedTool("find", find, read_only=True), ScriptedTool("pay", find)]) as server:
        yield server


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(lambda asked: BILLS) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, model: OpenAIServer, shop: MCPServer) -> dict[str, Any]:
    agents, servers = tmp_path / "agents", tmp_path / "servers"
    agents.mkdir()
    servers.mkdir()
    (agents / "keeper.md").write_text("---\nteams: '*'\nmcp: {servers: [{server_id: shop}]}\n---\nYou keep the shop.")
    seeker = f"---\nteams: [{TEAM}]\nmcp: {{servers: [{{server_id: shop}}]}}\n---\nYou seek."
    (agents / "seeker.md").write_text(seeker)
    (agents / "asker.md").write_text(f"---\nteams: [{TEAM}]\nuses: {{web: seeker}}\n---\nYou ask.")
    file = {"label": "Shop", "teams": [TEAM], "transport": "http", "url": shop.url}
    (servers / "shop.yaml").write_text(json.dumps(file))
    return {**scripted(tmp_path / "connectors", model.url), "agents_dir": agents, "mcp_dir": servers}


def a_call(**fields: Any) -> CallAgent:
    of = {"call_id": "c1", "team_id": TEAM, "member_id": ALL, "assistant_id": "keeper"}
    return CallAgent.model_validate(of | {"messages": [Message(content="What is due?")]} | fields)


async def ask(system: Harness, call: CallAgent) -> AgentReply:
    return await system.services["validator"].ask(catalog.CALL_AGENT, call)


def asking(system: Harness, call: CallAgent) -> "asyncio.Task[AgentReply]":
    """Until there is an answer, whatever dies."""
    wants = system.services["validator"].ask
    return asyncio.create_task(call_long(wants, catalog.CALL_AGENT, call, timeout=60, every=10))


async def test_an_agent_that_is_called_without_a_run_uses_the_tools_of_a_server(
    system: Harness, model: OpenAIServer, shop: MCPServer, settings: dict[str, Any]
) -> None:  # CL-28 EX-88
    asks = [[("shop__find", {"of": "May"})], [("shop__find", {"of": "June"}), ("shop__pay", {"of": "May"})]]

    def script(asked: ModelRequest) -> Completion | str:
        return Completion(asks[len(model.asked) - 1]) if len(model.asked) <= len(asks) else BILLS

    model.script = script
    async with system.executor(**settings):
        reply = await ask(system, a_call())
        assert await ask(system, a_call()) == reply
        assert (await ask(system, a_call(call_id="c2", team_id="globex"))).tools == []
    assert (reply.content, reply.error) == (BILLS, "")
    assert [(tool.name, str(tool.status)) for tool in reply.tools] == [
        ("shop__find", "completed"),
        ("shop__find", "completed"),
        ("shop__pay", "completed"),
    ]
    assert [(call.tool, call.arguments) for call in shop.calls[:1]] == [("find", {"of": "May"})]
    assert len(shop.calls) == len({call.step_id for call in shop.calls}) == 3
    assert '"of": "June"' in model.asked[2].words
    assert "sk-live" not in model.asked[2].words
    assert "tools" not in model.asked[3].body  # another team's


async def test_another_replica_goes_on_with_the_saved_rounds(
    system: Harness, model: OpenAIServer, shop: MCPServer, settings: dict[str, Any]
) -> None:  # CL-28
    never = asyncio.Event()

    async def hangs(asked: ModelRequest) -> Completion:
        if len(model.asked) > 1:
            await never.wait()
        return Completion([("shop__pay", {"of": "May"})])

    model.script = hangs
    async with system.executor(**settings):
        asking = asyncio.create_task(ask(system, a_call()))
        await model.received(2)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    model.script = lambda asked: BILLS
    async with system.executor(**settings):
        reply = await ask(system, a_call())
    assert (reply.content, len(reply.tools)) == (BILLS, 1)
    assert len(shop.calls) == 1


@pytest.fixture
def killable(system: Harness, settings: dict[str, Any], tmp_path: Path, mongo_url: str, mongo_prefix: str) -> Processes:
    folders = {f"ROTA_{name.upper()}": str(settings[name]) for name in ("connectors_dir", "agents_dir", "mcp_dir")}
    own = {"ROTA_MONGO_PREFIX": mongo_prefix, "ROTA_CONNECTOR": "scripted", "ROTA_LEASE": "1.5"}
    environ = folders | own | settings["environ"]
    return Processes(tmp_path, nats_url=system.nats_url, mongo_url=mongo_url, settings=environ)


@pytest.mark.soak
async def test_a_kill_over_an_agent_that_a_tool_asks_repeats_none_of_its_calls(
    system: Harness, model: OpenAIServer, shop: MCPServer, settings: dict[str, Any], killable: Processes
) -> None:  # CL-28
    never, dies = asyncio.Event(), asyncio.Event()

    async def script(asked: ModelRequest) -> Completion | str:
        seeks, rounds = "You seek" in asked.system, len([m for m in asked.body["messages"] if m["role"] == "tool"])
        if not rounds:
            return Completion([("shop__pay", {"of": "May"})] if seeks else [("web_search", {"query": "bills"})])
        if seeks and not dies.is_set():
            dies.set()
            await never.wait()
        return BILLS

    model.script = script
    await killable.start("executor")
    await killable.ready("executor")
    waiting = asking(system, a_call(assistant_id="asker"))
    await asyncio.wait_for(dies.wait(), PATIENCE_S)
    await killable.kill("executor")
    async with system.executor(**settings):
        reply = await waiting
        theirs = await ask(system, a_call(call_id="c2", team_id="globex", assistant_id="asker"))
        used = await ask(system, a_call(call_id="c3", team_id="globex", uses={"web": "seeker"}))
    never.set()
    assert reply.content == BILLS
    assert [(tool.name, str(tool.status)) for tool in reply.tools] == [("web_search", "completed")]
    assert len(shop.calls) == 1
    asked = ["seeker" if "You seek" in each.system else "asker" for each in model.asked]
    assert asked == ["asker", "seeker", "seeker", "seeker", "asker"]
    assert "asker" in theirs.error
    assert "uses.web" in used.error
