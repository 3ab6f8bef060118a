"""The A2A protocol from outside: its official client, a real gateway, and a run that asks and needs an approval."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from a2a.client import Client, ClientConfig, create_client
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
    UnsupportedOperationError,
)

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.mcp_server import ScriptedTool, mcp_server
from rota_common.testing.model_answers import Completion
from rota_common.testing.openai_server import ModelRequest, openai_server
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.execution import ExecStatus
from tests.integration.executor.harness import kind
from tests.integration.path.harness import System, a_system

ROBOT: dict[str, Any] = {
    "member_id": "payer",
    "display_name": "Payer",
    "robot_config": {
        "identity": {"role": "Pays bills", "duties": ["Pay what is asked for"]},
        "resources": {"mcp": [{"id": "bank", "tools": ["pay"]}]},
        "autonomy": "supervised",
        "learn": {"on": False},
    },
}
KEEPER = "---\nteams: [acme]\nname: The keeper\npublic: true\n---\nYou keep what is found.\n"
TASK_NOT_FOUND = -32001
OF_PHASES = {
    "goals": "## Goals\n1. Pay the bill",
    "tasks": json.dumps({"tasks": [{"id": "pay", "description": "Pay the bill"}]}),
    "delivery": json.dumps({"content": {"summary": "It is paid.", "body": "# Paid"}}),
}


def answers(asked: ModelRequest) -> Completion:
    """Of a model that asks for the amount, pays it, and says so."""
    if "You keep what is found" in asked.system:
        return Completion(text="It is kept.")
    if (phase := kind(asked)) in OF_PHASES:
        return Completion(text=OF_PHASES[phase])
    if any(each["role"] == "tool" for each in asked.body["messages"]):
        return Completion(text="It is paid.")
    if "42 EUR" in json.dumps(asked.body["messages"]):
        return Completion(calls=[("bank__pay", {"amount": 42})])
    return Completion(calls=[("ask_person", {"question": "How much?"})])


async def paid(arguments: dict[str, Any]) -> str:
    return f"paid {arguments['amount']}"


@pytest.fixture
async def system(
    tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[System]:
    for name in ("mcp", "agents"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(f"ROTA_{name.upper()}_DIR", str(tmp_path / name))
    (tmp_path / "agents" / "keeper.md").write_text(KEEPER)
    async with AsyncExitStack() as ends:
        bank = await ends.enter_async_context(mcp_server([ScriptedTool("pay", paid)]))
        text = {"label": "bank", "teams": ["*"], "transport": "http", "url": bank.url}
        (tmp_path / "mcp" / "bank.yaml").write_text(json.dumps(text))
        model = await ends.enter_async_context(openai_server(answers))
        environ = {"OPENAI_API_KEY": "sk-of-the-test", "OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "scripted"}
        where = {"nats_url": nats.url, "mongo_url": mongo_url, "mongo_prefix": mongo_prefix}
        made = await ends.enter_async_context(a_system(tmp_path / "rota", connector="openai", environ=environ, **where))
        await made.api.create_robot(ROBOT)
        yield made


@asynccontextmanager
async def client(system: System, name: str, *, polling: bool = False, streaming: bool = False) -> AsyncIterator[Client]:
    """The official client of an agent or a robot of the team. With `polling` it gets a task at once."""
    key = (await system.api.create_key("member", "another program"))["api_key"]
    async with httpx.AsyncClient(
        headers={"authorization": f"Bearer {key}"}, timeout=PATIENCE_S, trust_env=False
    ) as http:
        url = f"{system.stack.url}/v1/teams/{system.team}/a2a/{name}"
        yield await create_client(url, ClientConfig(httpx_client=http, polling=polling, streaming=streaming))


def message(text: str, **more: Any) -> SendMessageRequest:
    said = Message(message_id=uuid4().hex, role=Role.ROLE_USER, parts=[Part(text=text)], **more)
    return SendMessageRequest(message=said)


async def sent(to: Client, request: SendMessageRequest) -> StreamResponse:
    [response] = [each async for each in to.send_message(request)]
    return response


def words_of(task: Task) -> str:
    return task.status.message.parts[0].text


async def test_an_agent_answers_and_a_robots_task_asks_waits_for_an_approval_and_completes(system: System) -> None:
    async with client(system, "keeper") as keeper:
        answer = (await sent(keeper, message("Keep this.", context_id="c1"))).message
        assert (answer.parts[0].text, answer.context_id) == ("It is kept.", "c1")
    async with client(system, "payer") as payer:
        asked = (await sent(payer, message("Pay the bill of BigCorp."))).task
        assert (asked.status.state, words_of(asked)) == (TaskState.TASK_STATE_INPUT_REQUIRED, "How much?")
        waits = (await sent(payer, message("42 EUR", task_id=asked.id))).task
        assert waits.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert "bank.pay waits for the approval" in words_of(waits)
        with pytest.raises(UnsupportedOperationError, match="an admin decides"):
            await sent(payer, message("Yes, do.", task_id=asked.id))
        [approval] = (await system.api.of_team("GET", "/approvals"))["approvals"]
        decision = {"decision": "approve", "arguments_sha256": approval["arguments_sha256"]}
        await system.api.of_team("POST", f"/approvals/{approval['approval_id']}", json=decision)
        await system.ended({"execution_id": asked.id})
        done = await payer.get_task(GetTaskRequest(id=asked.id))
        assert done.status.state == TaskState.TASK_STATE_COMPLETED
        assert [part.text for part in done.artifacts[0].parts] == ["# Paid"]


async def test_another_teams_key_finds_no_card_and_no_task_and_the_own_one_cancels(system: System) -> None:
    other = str((await system.admin.create_team("other"))["api_key"])
    async with client(system, "payer", polling=True) as payer:
        task = (await sent(payer, message("Pay the bill of BigCorp."))).task
        assert task.status.state in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
        before = await system.api.executions({})

        offences = []
        headers = {"authorization": f"Bearer {other}", "a2a-version": "1.0"}
        async with httpx.AsyncClient(base_url=system.stack.url, headers=headers, trust_env=False) as stranger:
            await stranger.post("/v1/teams/other/robots", json=ROBOT)
            asked = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "42 EUR"}]}}
            answered = {"message": {**asked["message"], "taskId": task.id}}
            for name in ("payer", "keeper"):
                card = await stranger.get(f"/v1/teams/{system.team}/a2a/{name}/.well-known/agent-card.json")
                offences += [(name, card.text)] * (card.status_code != 403)
            for method, params in (
                *(("GetTask", {"id": task.id}), ("CancelTask", {"id": task.id})),
                *(("SendMessage", asked), ("SendMessage", answered)),
            ):
                call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
                theirs = await stranger.post(f"/v1/teams/{system.team}/a2a/payer", json=call)
                offences += [(method, theirs.text)] * (theirs.status_code != 403)
                if params is not asked:  # its own robot of the same name doesn't know the task
                    own = await stranger.post("/v1/teams/other/a2a/payer", json=call)
                    offences += [(method, own.text)] * (own.json().get("error", {}).get("code") != TASK_NOT_FOUND)
            keeper = await stranger.get("/v1/teams/other/a2a/keeper/.well-known/agent-card.json")
            offences += [("keeper", keeper.text)] * (keeper.status_code != 404)
        assert offences == []
        assert (await system.api.executions({}))["total"] == before["total"]

        over = await payer.cancel_task(CancelTaskRequest(id=task.id))
        assert over.status.state == TaskState.TASK_STATE_CANCELED
        ended = await system.ended({"execution_id": task.id})
        assert ended.status is ExecStatus.CANCELLED


async def test_an_answer_and_a_task_are_streamed_to_the_official_client(system: System) -> None:
    async with client(system, "keeper", streaming=True) as keeper:
        events = [each async for each in keeper.send_message(message("Keep this."))]
    assert events[0].task.status.state == TaskState.TASK_STATE_WORKING
    assert events[-2].artifact_update.artifact.parts[0].text == "It is kept."
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    async with client(system, "payer", streaming=True) as payer:
        events = [each async for each in payer.send_message(message("Pay the bill of BigCorp."))]
        asked = events[-1].status_update
        assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert asked.status.message.parts[0].text == "How much?"
        assert events[0].task.id == asked.task_id
        answer = message("42 EUR", task_id=asked.task_id)
        events = [each async for each in payer.send_message(answer)]
        assert "bank.pay waits for the approval" in events[-1].status_update.status.message.parts[0].text
