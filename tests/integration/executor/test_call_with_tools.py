"""Calls of agents with tools, without a run: over NATS, with a store in MongoDB and a real MCP server."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rota_common.testing.mcp_server import MCPServer, ScriptedTool, mcp_server
from rota_common.testing.openai_server import Completion, ModelRequest, OpenAIServer, openai_server
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
    file = {"label": "Shop", "teams": [TEAM], "transport": "http", "url": shop.url}
    (servers / "shop.yaml").write_text(json.dumps(file))
    return {**scripted(tmp_path / "connectors", model.url), "agents_dir": agents, "mcp_dir": servers}


def a_call(**fields: Any) -> CallAgent:
    of = {"call_id": "c1", "team_id": TEAM, "member_id": ALL, "assistant_id": "keeper"}
    return CallAgent.model_validate(of | {"messages": [Message(content="What is due?")]} | fields)


async def ask(system: Harness, call: CallAgent) -> AgentReply:
    return await system.services["validator"].ask(catalog.CALL_AGENT, call)


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
