"""An agent's own hooks as programs of its team on a real bus: asked once, whatever dies."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.micro import add_service
from nats.micro.request import Request

from rota_common.bus.barrier import barrier
from rota_common.bus.rpc import call_long
from rota_common.testing.openai_server import ModelRequest, OpenAIServer, openai_server
from rota_common.testing.processes import Processes
from rota_common.testing.samples import TEAM
from rota_contracts import catalog
from rota_contracts.catalog import process_subject
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.trigger import Message
from rota_contracts.model import ALL
from tests.integration.executor.harness import Harness, scripted

CLASSIFY = {
    "agent_id": "yao.keeper.classify",
    "messages": [{"role": "user", "content": "Classify this content..."}],
    "options": {"skip": {"output": True, "history": True}, "metadata": {"source": "keeper"}},
}


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(lambda asked: "a bill" if "classify" in asked.system else "kept") as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, model: OpenAIServer) -> dict[str, Any]:
    folder = tmp_path / "agents"
    folder.mkdir()
    hooks = "hooks: {create: keeper.create, next: keeper.next}"
    (folder / "yao.keeper.md").write_text(f"---\nteams: [{TEAM}]\n{hooks}\n---\nYou keep.")
    (folder / "yao.keeper.classify.md").write_text(f"---\nteams: [{TEAM}]\n---\nYou classify.")
    return scripted(tmp_path / "connectors", model.url) | {"agents_dir": folder}


@asynccontextmanager
async def keeper(url: str) -> AsyncIterator[list[tuple[str, str]]]:
    """The team's program with both hooks; gives the points and the ids of all that it is asked."""
    asked: list[tuple[str, str]] = []

    async def create(request: Request) -> None:
        [given] = json.loads(request.data)["args"]
        asked.append(("create", given["step_id"]))
        reply: dict[str, Any] = {"call": CLASSIFY}
        if given["results"]:
            kept = [{"id": message["id"]} for message in given["messages"]]
            reply = {"messages": [*kept, {"role": "system", "text": f"It is {given['results'][0]['content']}."}]}
        await request.respond(json.dumps(reply).encode())

    async def after(request: Request) -> None:
        [given] = json.loads(request.data)["args"]
        asked.append(("next", given["step_id"]))
        await request.respond(json.dumps({"data": {"said": given["content"]}}).encode())

    client = await nats.connect(url)
    service = await add_service(client, name="keeper", version="1.0.0")
    await service.add_endpoint(name="create", subject=process_subject(TEAM, "keeper.create"), handler=create)
    await service.add_endpoint(name="next", subject=process_subject(TEAM, "keeper.next"), handler=after)
    await barrier(client)
    try:
        yield asked
    finally:
        await service.stop()
        await client.close()


def a_call() -> CallAgent:
    given = {"call_id": "c1", "team_id": TEAM, "member_id": ALL, "assistant_id": "yao.keeper"}
    return CallAgent.model_validate(given | {"messages": [Message(content="Keep it.")]})


def called(system: Harness) -> "asyncio.Task[Any]":
    return asyncio.create_task(
        call_long(system.services["validator"].ask, catalog.CALL_AGENT, a_call(), timeout=60, every=10)
    )


async def test_an_executor_that_goes_on_with_a_call_asks_no_hook_again(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-87 EX-98
    never, script = asyncio.Event(), model.script

    async def hangs_first(asked: ModelRequest) -> Any:
        if len(model.asked) == 1:
            await never.wait()
        return script(asked)

    model.script = hangs_first
    async with keeper(system.nats_url) as asked:
        async with system.executor(**settings):
            asking = called(system)
            await model.received()
        assert [point for point, _ in asked] == ["create"]
        async with system.executor(**settings):
            reply = await asking
        never.set()
    assert (reply.content, reply.error) == ("kept", "")
    assert reply.whole_response()["next"] == {"said": "kept"}
    assert [point for point, _ in asked] == ["create", "create", "next"]
    assert model.asked[-1].system.endswith("It is a bill.")


@pytest.mark.soak
async def test_an_executor_that_is_killed_over_a_call_of_a_hook_loses_no_reply(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], tmp_path: Path, mongo_url: str, mongo_prefix: str
) -> None:  # EX-87 EX-98
    never, script = asyncio.Event(), model.script

    async def dies_over_the_first(asked: ModelRequest) -> Any:
        if len(model.asked) == 1:
            await never.wait()
        return script(asked)

    model.script = dies_over_the_first
    environ = {
        "ROTA_MONGO_PREFIX": mongo_prefix,
        "ROTA_CONNECTOR": "scripted",
        "ROTA_CONNECTORS_DIR": str(settings["connectors_dir"]),
        "ROTA_AGENTS_DIR": str(settings["agents_dir"]),
        "ROTA_LEASE": "1.5",
    }
    processes = Processes(
        tmp_path, nats_url=system.nats_url, mongo_url=mongo_url, settings=environ | settings["environ"]
    )
    async with keeper(system.nats_url) as asked:
        await processes.start("executor")
        await processes.ready("executor")
        asking = called(system)
        await model.received()
        await processes.kill("executor")
        async with system.executor(**settings):
            reply = await asking
        never.set()
    assert (reply.content, reply.error) == ("kept", "")
    assert [point for point, _ in asked] == ["create", "create", "next"]
    assert len({step_id for _, step_id in asked}) == 3
