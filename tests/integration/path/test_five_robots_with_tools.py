"""The five robots of the specification with a model and all the MCP tools that they name, woken as they say (CL-27)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from executor.domain.planning.parsing import SECTIONS
from rota_common.clock import now
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime
from rota_common.testing.mcp_server import MCPServer, ScriptedTool, mcp_server
from rota_common.testing.model_answers import Completion
from rota_common.testing.openai_server import ModelRequest, openai_server
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.execution import ExecStatus, Execution, TaskStatus
from tests.integration.executor.harness import kind
from tests.integration.path.harness import EXAMPLES, System, a_system, example

NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml") if path.stem != "greeter")
TALK = {"action": "task.add", "messages": [{"role": "user", "content": "Meeting with BigCorp's CTO. Prepare it."}]}
OF_PHASES = {
    "inspiration": "\n\n".join(f"## {name}\nnone known" for name in SECTIONS),
    "goals": "## Goals\n1. Do the duties",
    "tasks": json.dumps({"tasks": [{"id": "all", "description": "Do the duties with all tools"}]}),
    "delivery": json.dumps({"content": {"summary": "Done.", "body": "# Done"}}),
}
LESSONS = json.dumps({"lessons": [{"type": "insight", "content": "It went well"}]})


class MovedClock:
    """The machine's clock, and `ahead` of it."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        return now() + self.ahead


def tools_of(name: str) -> dict[str, set[str]]:
    """The tools that a robot names, by their servers."""
    config = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())["robot_config"]
    return {each["id"]: set(each["tools"]) for each in config["resources"]["mcp"]}


def answers(asked: ModelRequest) -> Completion:
    """Of a model that does what is asked, and calls each tool of a server that it is offered once."""
    if "You keep the lessons" in asked.system:
        return Completion(text=LESSONS)
    if (phase := kind(asked)) in OF_PHASES:
        return Completion(text=OF_PHASES[phase])
    offered = [each["function"]["name"] for each in asked.body.get("tools", ())]
    wanted = [each for each in offered if "__" in each]
    if wanted and not any(each["role"] == "tool" for each in asked.body["messages"]):
        return Completion(calls=[(each, {"for": "BigCorp"}) for each in wanted])
    return Completion(text="All tools have answered, and the work is done.")


async def found(arguments: dict[str, Any]) -> str:
    return f"found something for {arguments}"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MovedClock:
    """Everyone's, receivers of signed webhooks included."""
    made = MovedClock()

    class Moved(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls.fromtimestamp(made().timestamp(), tz)

    monkeypatch.setattr("standardwebhooks.webhooks.datetime", Moved)
    return made


@pytest.fixture
async def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[dict[str, MCPServer]]:
    """All servers that the robots name, by their ids, in the operator's folder."""
    named: dict[str, set[str]] = {}
    for name in NAMES:
        for server, tools in tools_of(name).items():
            named.setdefault(server, set()).update(tools)
    folder = tmp_path / "mcp"
    folder.mkdir()
    monkeypatch.setenv("ROTA_MCP_DIR", str(folder))
    async with AsyncExitStack() as ends:
        made = {}
        for server, tools in named.items():
            scripted = [ScriptedTool(tool, found, read_only=True) for tool in sorted(tools)]
            made[server] = await ends.enter_async_context(mcp_server(scripted))
            text = {"label": server, "teams": ["*"], "transport": "http", "url": made[server].url}
            (folder / f"{server}.yaml").write_text(json.dumps(text))
        yield made


@pytest.fixture
async def system(
    tmp_path: Path,
    nats: EmbeddedServer,
    mongo_url: str,
    mongo_prefix: str,
    clock: MovedClock,
    servers: dict[str, MCPServer],
) -> AsyncIterator[System]:
    async with openai_server(answers) as model:
        environ = {"OPENAI_API_KEY": "sk-of-the-test", "OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "scripted"}
        where = {"nats_url": nats.url, "mongo_url": mongo_url, "mongo_prefix": mongo_prefix}
        runtime = Runtime(clock=clock)
        async with a_system(tmp_path / "rota", connector="openai", environ=environ, runtime=runtime, **where) as made:
            yield made


async def woken(system: System, name: str, clock: MovedClock) -> Execution:
    """The first run of a robot, woken as its file says, once it has ended."""
    if name == "lead-processor":
        return await system.ended((await system.post_lead(at=clock()))["triggers"][0])
    if name == "sales-assistant":
        return await system.ended(await system.api.intervene(name, TALK))
    async with asyncio.timeout(PATIENCE_S):
        while not (runs := (await system.api.executions({"member_id": name}))["executions"]):
            due = (await system.api.robot_next(name, 1))["upcoming"]
            if due and (wait := datetime.fromisoformat(due[0]) - clock()) > timedelta(0):
                clock.ahead += wait
            await asyncio.sleep(0.1)
    return await system.ended(runs[-1])


async def test_each_robot_is_woken_as_it_says_and_uses_every_tool_that_it_names(
    system: System, servers: dict[str, MCPServer], clock: MovedClock
) -> None:  # CL-27 EX-10
    offences = []
    for name in NAMES:
        before = {server: len(servers[server].calls) for server in servers}
        await system.api.create_robot(example(name, system.hooks.url))
        done = await woken(system, name, clock)
        await system.api.control(f"/robots/{name}", "pause", "it has run")
        called = {server: {call.tool for call in servers[server].calls[before[server] :]} for server in tools_of(name)}
        if done.status is not ExecStatus.COMPLETED or done.delivery is None or not done.delivery.success:
            offences.append(f"{name}: {done.status} {done.error} {done.delivery}")
        if {result.status for result in done.results} != {TaskStatus.COMPLETED}:
            offences.append(f"{name}: {done.results}")
        if called != tools_of(name):
            offences.append(f"{name} called {called}, and names {tools_of(name)}")
        problems = (await system.api.of_team("GET", f"/robots/{name}/problems"))["problems"]
        if any("MCP" in problem for problem in problems):
            offences.append(f"{name}: {problems}")
    assert offences == []
