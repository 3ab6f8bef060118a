"""A message source over HTTP: the response to a message is the robot's answer."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest_asyncio

from rota_common.errors import Permanent
from rota_contracts.catalog import CALL_AGENT
from rota_contracts.messages.agent import AgentReply, CallAgent
from trigger_gateway.adapters.in_memory import in_memory

from .harness import Gateway, error_of, gateway

KEY = "the-key-of-the-sender"
BEARER = {"authorization": f"Bearer {KEY}"}


@dataclass
class Chat:
    """A team whose source `chat` is answered by the robot `leader`, and an executor that plays its agent."""

    made: Gateway
    fails: str = ""
    calls: list[CallAgent] = field(default_factory=list)

    async def post(self, body: Any = None, **headers: str) -> httpx.Response:
        """A signed message, with more headers (_ for -)."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content = {"content": body} if isinstance(body, bytes) else {"json": body or {"message": "Hello?"}}
        return await self.made.http.post("/v1/hooks/acme/chat", headers=BEARER | named, **content)

    async def answer(self, call: CallAgent) -> AgentReply:
        self.calls.append(call)
        if self.fails == "refuses":
            raise Permanent("no file /etc/rota/agents/rota.message.md")
        return AgentReply(agent_id=call.assistant_id, content="Hello.", model="gpt-x", error=self.fails)


@pytest_asyncio.fixture
async def chat() -> AsyncIterator[Chat]:
    async with gateway(adapters=in_memory(given={"KEY": KEY})) as made:
        made.key = await made.make_team()
        await made.make_robot()
        body = {"name": "chat", "scheme": "bearer", "secret": "$ENV.KEY", "robot": "leader"}
        assert (await made.call("POST", "/v1/teams/acme/sources", json=body)).status_code == 201
        chat = Chat(made)
        made.bus.answer(CALL_AGENT, chat.answer)
        yield chat


async def test_a_message_is_answered_at_once(chat: Chat) -> None:  # TG-34
    answer = await chat.post({"message": "What is due today?"})
    assert (answer.status_code, answer.json()) == (200, {"response": "Hello.", "model": "gpt-x"})
    [call] = chat.calls
    assert (call.team_id, call.member_id, call.assistant_id) == ("acme", "leader", "rota.message")
    assert [each.text() for each in call.messages] == ["What is due today?"]
    assert len(chat.made.triggers()) == 0


async def test_a_repeat_is_answered_with_the_stored_response(chat: Chat) -> None:  # TG-31
    first = await chat.post(x_idempotency_key="k1")
    again = await chat.post(x_idempotency_key="k1")
    assert (again.status_code, again.json()) == (200, first.json())
    assert error_of(await chat.post({"message": "Another?"}, x_idempotency_key="k1")) == (409, "event_id_reused")
    assert len(chat.calls) == 1
    await chat.post()
    await chat.post()
    assert len(chat.calls) == 3  # without a key each is a message of its own


async def test_the_order_of_the_checks(chat: Chat) -> None:  # TG-29, TG-32, TG-33
    assert error_of(await chat.post(b"{no json", authorization="Bearer wrong")) == (401, "unauthenticated")
    assert error_of(await chat.post(b"{no json", x_idempotency_key="k1")) == (400, "malformed_json")
    assert error_of(await chat.post({"text": "Hello?"}, x_idempotency_key="k1")) == (400, "malformed_message")
    assert error_of(await chat.post({"message": ["Hello?"]}, x_idempotency_key="k1")) == (400, "malformed_message")
    assert error_of(await chat.post(b'{"message": "' + b"x" * 65_536 + b'"}')) == (413, "too_large")
    assert (await chat.post(x_idempotency_key="k1")).status_code == 200  # what was refused has burnt no key


async def test_sixty_messages_a_minute_from_one_address(chat: Chat) -> None:  # TG-28
    wanted = [await chat.post() for _ in range(70)]
    statuses = [answer.status_code for answer in wanted]
    assert set(statuses) <= {200, 429}
    assert statuses.count(200) >= 60  # more if a new minute began meanwhile
    if 429 in statuses:
        assert int(wanted[statuses.index(429)].headers["retry-after"]) >= 1
        assert statuses.index(429) >= 60


async def test_a_failure_is_reported_without_paths(chat: Chat) -> None:  # TG-35
    for chat.fails in ("the model said no: see /var/log/rota.log", "refuses"):
        answer = await chat.post(x_idempotency_key="k1")
        assert error_of(answer) == (500, "no_answer")
        assert "/var/log" not in answer.text
        assert "/etc/rota" not in answer.text
    chat.fails = ""
    assert (await chat.post(x_idempotency_key="k1")).json()["response"] == "Hello."
