"""Tasks of every type in one run: an assistant with a tool, a tool alone, a process (EX-17, EX-24)."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nats
import nats.micro
import pytest
from nats.micro.request import Request

from executor.adapters.in_memory import ScriptedTools
from executor.domain.conversation.chat import Tool
from executor.tool_ports import ToolFailed
from rota_common.testing.crash import crash
from rota_common.testing.model_answers import Completion
from rota_common.testing.openai_server import OpenAIServer, openai_server
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import TEAM, a_robot
from rota_contracts.catalog import process_subject
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.process import ProcessCall
from tests.integration.executor.fixtures import Script
from tests.integration.executor.harness import Harness, kind, scripted

PLAN = [
    {"id": "a", "description": "Score it", "executor_id": "experts.scorer"},
    {"id": "b", "description": "Note it", "executor_type": "mcp", "executor_id": "crm.note", "args": [{"text": "87"}]},
    {"id": "c", "description": "Pay it", "executor_type": "process", "executor_id": "crm.pay", "args": ["Globex", 7]},
]
SCORING = "run: Score it"
RESOURCES = {
    "agents": ["experts.scorer"],
    "mcp": [{"id": "crm"}],
    "processes": [{"name": "crm.pay", "timeout": "5s"}, {"name": "crm.ping", "idempotent": True, "timeout": "30s"}],
}


class Crm(ScriptedTools):
    """The tools of a server that no replica has to connect to."""

    def __init__(self) -> None:
        lookup = Tool("crm__lookup", "crm", "lookup", "Looks it up", idempotent=True)
        super().__init__([lookup, Tool("crm__note", "crm", "note")])

    async def close(self) -> None: ...


class Payments:
    """A process of the team; while `hold` isn't set it takes its time."""

    def __init__(self) -> None:
        self.calls = list[ProcessCall]()
        self.reached, self.hold = asyncio.Event(), asyncio.Event()
        self.hold.set()

    async def __call__(self, request: Request) -> None:
        self.calls.append(ProcessCall.model_validate_json(request.data))
        self.reached.set()
        await self.hold.wait()
        await request.respond(b'{"paid": true}')


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    plan = json.dumps({"tasks": PLAN})
    script = Script(tasks=[plan], **{SCORING: [Completion([("crm__lookup", {"name": "Globex"})]), "87 of 100"]})
    async with openai_server(script) as server:
        yield server


@pytest.fixture
async def payments(system: Harness) -> AsyncIterator[Payments]:
    await system.keep(a_robot(config={"resources": RESOURCES}, rev=2))
    made, client = Payments(), await nats.connect(system.nats_url)
    service = await nats.micro.add_service(client, name="crm", version="1.0.0")
    for name in ("crm.pay", "crm.ping"):
        endpoint = name.replace(".", "_")
        await service.add_endpoint(name=endpoint, subject=process_subject(TEAM, name), handler=made)
    await client.flush()
    yield made
    await client.close()


@pytest.fixture
def crm(monkeypatch: pytest.MonkeyPatch) -> Crm:
    made = Crm()
    monkeypatch.setattr("executor.adapters.real.McpTools", lambda servers, **_: made)
    return made


@pytest.fixture
def settings(tmp_path: Path, model: OpenAIServer, crm: Crm) -> dict[str, Any]:
    return scripted(tmp_path / "connectors", model.url)


def plan_of(model: OpenAIServer, *tasks: dict[str, Any]) -> None:
    model.script = Script(tasks=[json.dumps({"tasks": list(tasks)})], **{SCORING: ["87 of 100"]})


async def test_an_assistant_with_a_tool_then_a_tool_then_a_process(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], crm: Crm, payments: Payments
) -> None:  # EX-17 EX-24 EX-31
    async with system.executor(**settings):
        await system.request()
        done = await system.over()
        assert (await system.replay()).same
    assert (done.status, done.error) == (ExecStatus.COMPLETED, None)
    assert [result.output and result.output.inline for result in done.results] == [
        "87 of 100",
        "note answered",
        '{"paid": true}',
    ]
    assert [(use.tool, use.arguments) for use in crm.calls] == [
        ("lookup", {"name": "Globex"}),
        ("note", {"text": "87"}),
    ]
    (paid,) = payments.calls
    assert (paid.args, paid.execution_id, paid.task_id) == (["Globex", 7], "e1", "c")
    seen = [asked.body["messages"][-1] for asked in model.asked if kind(asked) == SCORING]
    assert seen[1]["role"] == "tool"
    assert "\nlookup answered\n" in seen[1]["content"]


async def test_a_failed_tool_ends_the_run_with_its_error(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], crm: Crm, payments: Payments
) -> None:  # EX-24 EX-25
    async def failing(use: ToolUse) -> str:
        raise ToolFailed("404: no such customer")

    crm._answer = failing
    plan_of(model, PLAN[1], PLAN[2])
    async with system.executor(**settings):
        await system.request()
        done = await system.over()
    assert (done.status, done.error) == (ExecStatus.FAILED, "task b (Note it): 404: no such customer")
    assert (len(crm.calls), payments.calls) == (1, [])


@pytest.mark.parametrize(("name", "calls"), [("crm.pay", 1), ("crm.ping", 2)])
async def test_after_a_crash_in_a_process_only_one_that_is_idempotent_is_called_again(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], payments: Payments, name: str, calls: int
) -> None:  # F9
    plan_of(model, PLAN[2] | {"executor_id": name})
    payments.hold.clear()
    first = await system.start(**settings | {"lease": 0.5})
    await system.request()
    await asyncio.wait_for(payments.reached.wait(), PATIENCE_S)
    await crash(first.service)
    payments.hold.set()
    async with system.executor(**settings | {"lease": 0.5}):
        if name == "crm.pay":
            ((parked,), (call,)) = (await system.parked(), payments.calls)
            assert parked.data.reason.startswith(f"The outcome of crm.pay (call {call.step_id}) is unknown: ")
            asks = await system.execution()
            assert asks is not None
            assert asks.question is not None
            assert (asks.status, asks.question.task_id) == (ExecStatus.WAITING, "c")
            await system.intervene("instruct", "It was paid: I looked it up.")
        done = await system.over()
        assert (await system.replay()).same
    assert len(payments.calls) == calls
    assert len({call.step_id for call in payments.calls}) == 1
    assert (done.status, done.error) == (ExecStatus.COMPLETED, None)
    if name == "crm.pay":
        assert [result.output and result.output.inline for result in done.results] == ["It was paid: I looked it up."]


async def test_a_stop_in_the_middle_of_a_process_ends_the_run_at_once(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], payments: Payments
) -> None:  # F11
    plan_of(model, PLAN[2])
    payments.hold.clear()
    async with system.executor(**settings):
        await system.request()
        await asyncio.wait_for(payments.reached.wait(), PATIENCE_S)
        await system.control("stop")
        done = await asyncio.wait_for(system.over(), 4)
    payments.hold.set()
    assert (done.status, len(payments.calls)) == (ExecStatus.CANCELLED, 1)


async def test_a_process_without_responder_is_called_once_it_is_up(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], payments: Payments
) -> None:  # EX-24
    await system.keep(a_robot(config={"resources": {"processes": [{"name": "late"}]}}, rev=3))
    plan_of(model, PLAN[2] | {"executor_id": "late"})
    client = await nats.connect(system.nats_url)
    async with system.executor(**settings):
        await system.request()
        waiting = await system.until(lambda execution: bool(execution.results))
        assert waiting.status is ExecStatus.RUNNING
        service = await nats.micro.add_service(client, name="late", version="1.0.0")
        await service.add_endpoint(name="late", subject=process_subject(TEAM, "late"), handler=payments)
        done = await system.over()
    await client.close()
    assert (done.status, len(payments.calls)) == (ExecStatus.COMPLETED, 1)
