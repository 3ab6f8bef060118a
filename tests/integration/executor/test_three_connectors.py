"""One run whose agents use four connectors of two dialects, and each call goes where it should."""

import base64
import json
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from executor.adapters.in_memory import ScriptedTools
from executor.domain.conversation.chat import Tool
from rota_common.testing.model_answers import Completion, Usage
from rota_common.testing.openai_server import OpenAIServer, Reply, openai_server
from rota_common.testing.samples import a_robot
from rota_contracts.messages.execution import ExecStatus
from tests.integration.executor.fixtures import ANSWERS, Script
from tests.integration.executor.harness import Harness, kinds

PICTURE = base64.b64encode(b"a picture").decode()
WORDS = [
    {"type": "text", "text": "Look."},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
]
PLAN = [
    {"id": "a", "description": "Score it", "executor_id": "experts.scorer"},
    {"id": "b", "description": "Write it", "executor_id": "experts.writer"},
]
LOOKUP = Tool("crm__lookup", "crm", "lookup", "Looks it up", {"type": "object", "properties": {"name": {}}})
CALL = '<tool_call>{"name": "crm__lookup", "arguments": {"name": "Globex"}}</tool_call>'
CONNECTORS: dict[str, dict[str, Any]] = {
    "usual": {"type": "openai", "fallbacks": ["spare"]},
    "spare": {"type": "openai"},
    "plain": {"type": "openai", "capabilities": {"tool_calls": False}},
    "blind": {"type": "anthropic", "capabilities": {"vision": False}},
}
PRICES = {"spare": 1.0, "plain": 10.0, "blind": 100.0}
"""Of a million tokens, in or out."""


class Crm(ScriptedTools):
    async def close(self) -> None: ...


def answers() -> Script:
    """Each answer takes 1,000 tokens in and 100 out."""
    usage = Usage(1_000, 100)
    said = ANSWERS | {"tasks": json.dumps({"tasks": PLAN})}
    replies: dict[str, Any] = {step: [Completion(text=text, usage=usage)] for step, text in said.items()}
    replies["run: Score it"].insert(0, Completion(text=CALL, usage=usage))
    return Script(**replies)


def write(folder: Path, servers: dict[str, OpenAIServer]) -> dict[str, Any]:
    """The operator's files, and the settings that name them."""
    connectors, agents = folder / "connectors", folder / "agents"
    connectors.mkdir()
    agents.mkdir()
    for name, each in CONNECTORS.items():
        host = servers[name].anthropic_url if each["type"] == "anthropic" else servers[name].url
        price = {"input_per_million": PRICES[name], "output_per_million": PRICES[name]} if name in PRICES else None
        options = {"model": name, "key": "$ENV.KEY", "host": host, "price": price}
        options |= {"capabilities": each.get("capabilities", {})}
        file = {"label": name, "teams": ["*"], "type": each["type"], "fallbacks": each.get("fallbacks", [])}
        (connectors / f"{name}.yaml").write_text(json.dumps(file | {"options": options}))
    for agent, connector in {"experts.scorer": "plain", "experts.writer": "blind"}.items():
        (agents / f"{agent}.md").write_text(f"---\nteams: ['*']\nconnector: {connector}\n---\nYou are {agent}.")
    return {"connector": "usual", "connectors_dir": connectors, "agents_dir": agents, "environ": {"KEY": "sk-1"}}


async def test_each_call_goes_where_it_should_and_costs_add_up(
    system: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # CL-10 CL-11 CL-13 CL-16
    crm = Crm([LOOKUP])
    monkeypatch.setattr("executor.adapters.real.McpTools", lambda servers, **_: crm)
    resources = {"agents": ["experts.scorer", "experts.writer"], "mcp": [{"id": "crm"}]}
    await system.keep(a_robot(config={"resources": resources}, rev=2))
    given = {"action": "task.add", "messages": [{"content": WORDS}]}
    async with AsyncExitStack() as ends:
        serving = {name: await ends.enter_async_context(openai_server(answers())) for name in CONNECTORS}
        serving["usual"].script = lambda asked: Reply(503, "no room")
        async with system.executor(**write(tmp_path, serving)):
            await system.request(type="human", input=given)
            done = await system.over()
    assert (done.status, done.error) == (ExecStatus.COMPLETED, None)
    asked = {name: kinds(server) for name, server in serving.items()}
    assert asked["spare"] == Counter(goals=1, tasks=1, delivery=1)
    assert asked["plain"] == Counter({"run: Score it": 2})
    assert asked["blind"] == Counter({"run: Write it": 1})
    plain, blind = serving["plain"].asked[0], serving["blind"].asked[0]
    assert plain.body.keys().isdisjoint({"tools", "tool_choice"})
    assert "crm__lookup" in plain.system
    assert [use.arguments for use in crm.calls] == [{"name": "Globex"}]
    assert blind.body["tools"][0]["name"] == "crm__lookup"
    assert "x-api-key" in blind.headers
    assert (PICTURE in str(plain.body), PICTURE in str(blind.body)) == (True, False)
    tokens = 1_100 / 1_000_000
    assert done.usage.costs == {"USD": pytest.approx(tokens * (3 * 1.0 + 2 * 10.0 + 100.0))}
