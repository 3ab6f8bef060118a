"""Calls of agents over HTTP: one answer, as JSON or as events."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import ANSWER_PIECE, CALL_AGENT, agent_subject
from rota_contracts.messages.agent import AfterHook, AgentReply, AnswerPieceV1, CallAgent, Completion
from rota_contracts.messages.process import ERROR, ERROR_CODE
from rota_contracts.model import ALL

from .harness import Gateway, error_of, gateway, settings

CLASSIFY = "/v1/teams/acme/agents/yao.keeper.classify/call"
OF_CALLERS = ("callers", "autonomy", "user_id")
HELLO = {"messages": [{"role": "user", "content": "Classify this."}]}


@dataclass
class Agents:
    """An executor that plays agents: `go` lets them answer, `pieces` are published before that."""

    made: Gateway
    pieces: tuple[tuple[str, int, str], ...] = ()
    error: str = ""
    hooked: AfterHook | None = None
    go: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[CallAgent] = field(default_factory=list)

    async def answer(self, call: CallAgent) -> AgentReply:
        self.calls.append(call)
        for call_id, piece, text in self.pieces:
            of = {"team_id": call.team_id, "member_id": call.member_id, "call_id": call_id or call.call_id}
            await self.made.bus.publish(ANSWER_PIECE, AnswerPieceV1(**of, piece=piece, text=text), caused_by="it")
        await self.go.wait()
        if self.error:
            return AgentReply(agent_id=call.assistant_id, error=self.error)
        found: Any = {"content": '{"kind": "bill"}', "response": {"kind": "bill"}}
        return AgentReply(agent_id=call.assistant_id, hooked=self.hooked, **found)


@asynccontextmanager
async def agents(**given: Any) -> AsyncIterator[Agents]:
    async with gateway(settings(**given)) as made:
        made.key = await made.make_team()
        await made.make_robot()
        play = Agents(made)
        play.go.set()
        made.bus.answer(CALL_AGENT, play.answer)
        yield play


async def test_a_call_has_the_parameters_and_the_result_of_the_specification() -> None:  # EX-88 EX-89 CL-28
    async with agents() as play:
        given = {"model": "deepseek.v3", "timeout": 120, "metadata": {"source": "job"}, "locale": "zh-CN"}
        more: dict[str, Any] = {"skip": {"output": False, "history": False, "trace": True}, "route": "/inbox"}
        more |= {"chat_id": "custom-id", "uses": {"web": "mcp:brave.search"}}
        answer = await play.made.call("POST", CLASSIFY, json=HELLO | given | more)
        assert answer.status_code == 200
        expected = {"agent_id": "yao.keeper.classify", "content": '{"kind": "bill"}', "response": {"kind": "bill"}}
        assert expected | {"error": "", "chat_id": "custom-id"} == {
            name: answer.json()[name] for name in (*expected, "error", "chat_id")
        }
        await play.made.call("POST", CLASSIFY, json=HELLO | {"member_id": "leader"})
        [first, second] = play.calls
        asked = first.model_dump(exclude={"call_id", "messages", "form", "execution_id", "streamed", *OF_CALLERS})
        del more["skip"]
        assert asked == given | more | {
            "team_id": "acme",
            "member_id": ALL,
            "assistant_id": "yao.keeper.classify",
        }
        assert (second.member_id, second.timeout, second.model) == ("leader", 600, None)
        assert second.chat_id, "one is made where none is given"


async def test_the_response_holds_what_a_hook_after_the_model_returned() -> None:  # EX-98 CL-28
    async with agents() as play:
        play.hooked = AfterHook(completion=Completion(content="a bill"), next={"sure": True})
        answer = (await play.made.call("POST", CLASSIFY, json=HELLO)).json()
        completion = {"content": "a bill", "response": None}
        assert answer["response"] == {"completion": completion, "next": {"sure": True}, "notes": []}
        assert (answer["content"], "hooked" in answer) == ('{"kind": "bill"}', False)


async def test_a_teams_program_calls_over_nats_as_over_http() -> None:  # CL-28
    async with agents(calls_per_team=1) as play:
        client, subject = play.made.bus.connection("program").client, agent_subject("acme", "yao.keeper.classify")

        async def ask(body: bytes, to: str = subject) -> Any:
            return await client.request(to, body, timeout=PATIENCE_S)

        answered = await ask(json.dumps(HELLO | {"request_id": "r1", "chat_id": "c1"}).encode())
        assert answered.headers == {}
        over_http = await play.made.call("POST", CLASSIFY, json=HELLO | {"chat_id": "c1"})
        same = {name: value for name, value in over_http.json().items() if name != "call_id"}
        assert {name: value for name, value in json.loads(answered.data).items() if name != "call_id"} == same
        assert (
            json.loads((await ask(json.dumps(HELLO | {"request_id": "r1", "chat_id": "c1"}).encode())).data)["call_id"]
            == play.calls[0].call_id
        )
        assert {call.team_id for call in play.calls} == {"acme"}
        hello, stranger = json.dumps(HELLO).encode(), agent_subject("rival", "yao.keeper.classify")
        refused = {
            "400 malformed_json": await ask(b"{"),
            "422 invalid_request messages": await ask(b"{}"),
            "422 invalid_request stream": await ask(json.dumps(HELLO | {"stream": True}).encode()),
            "404 not_found": await ask(hello, stranger),
        }
        play.go.clear()
        waiting = asyncio.create_task(ask(hello))
        while len(play.calls) < 4:
            await asyncio.sleep(0)
        refused["429 share_used"] = await ask(hello)
        play.go.set()
        assert (await waiting).headers == {}
        said = {
            name: f"{reply.headers[ERROR_CODE]} {json.loads(reply.data)['error']}" for name, reply in refused.items()
        }
        assert {name: text for name, text in said.items() if not all(word in text for word in name.split())} == {}
        assert all(json.loads(reply.data)["error"]["message"] == reply.headers[ERROR] for reply in refused.values())


async def test_errors_of_agents_are_returned_and_wrong_parameters_refused() -> None:  # EX-90
    async with agents() as play:
        play.error = "model m can't answer: see /etc/rota/agents/x.md"
        answer = await play.made.call("POST", CLASSIFY, json=HELLO)
        assert (answer.status_code, answer.json()["content"]) == (200, "")
        assert answer.json()["error"] == "model m can't answer: see [REDACTED]"
        picture = {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
        wrong: dict[str, dict[str, Any]] = {
            "messages": {"messages": []},
            "messages.0.role": {"messages": [{"role": "tool", "content": "x"}]},
            "messages.0.content": {"messages": [{"content": [picture]}]},
            "timeout": HELLO | {"timeout": 0},
            "asistant": HELLO | {"asistant": "x"},
            "skip.all": HELLO | {"skip": {"all": True}},
        }
        for name, body in wrong.items():
            refused = await play.made.call("POST", CLASSIFY, json=body)
            assert (refused.status_code, name in refused.text) == (422, True), (name, refused.text)
        empty = await play.made.call("POST", CLASSIFY, json={"messages": [{"content": " "}]})
        assert "at least one message with content" in empty.text
        stranger = await play.made.call("POST", CLASSIFY, json=HELLO | {"member_id": "stranger"})
        assert stranger.status_code == 404
        assert len(play.calls) == 1


async def test_a_repeat_under_the_same_key_is_the_same_call() -> None:
    async with agents() as play:
        for content in ("Classify this.", "Classify this.", "Classify that."):
            body = {"messages": [{"content": content}], "request_id": "k1"}
            answer = await play.made.call("POST", CLASSIFY, json=body)
        assert error_of(answer) == (409, "idempotency_key_reused")
        assert [len(play.calls), len({call.call_id for call in play.calls})] == [2, 1]
        assert len({call.chat_id for call in play.calls}) == 1


async def test_other_teams_and_viewers_call_nothing() -> None:
    async with agents() as play:
        viewer = await play.made.make_key("viewer")
        assert (await play.made.call("POST", CLASSIFY, json=HELLO, key=viewer)).status_code == 403
        stranger = await play.made.make_team("other")
        assert (await play.made.call("POST", CLASSIFY, json=HELLO, key=stranger)).status_code in (403, 404)
        assert play.calls == []


async def test_an_answer_is_streamed_in_pieces_and_then_whole() -> None:
    async with agents() as play:
        play.pieces = (("another's", 1, "Secret."), ("", 1, "One. "), ("", 0, ""), ("", 1, "Two. "))
        play.go.clear()
        asking = asyncio.create_task(play.made.call("POST", CLASSIFY, json=HELLO | {"stream": True}))
        while not play.calls:
            await asyncio.sleep(0)
        play.go.set()
        answer = await asking
        assert answer.headers["content-type"].startswith("text/event-stream")
        seen = events(answer.text)
        assert seen[-1][0] == "result"
        assert seen[-1][1]["response"] == {"kind": "bill"}
        whole = [("piece", {"piece": 1, "text": "One. "}), ("cleared", {}), ("piece", {"piece": 1, "text": "Two. "})]
        assert seen[:-1] == whole[: len(seen) - 1], "pieces may be lost at the end, and nothing else is among them"
        assert play.calls[0].streamed


async def test_a_team_has_its_share_of_calls_under_way() -> None:
    async with agents(calls_per_team=1) as play:
        play.go.clear()
        first = asyncio.create_task(play.made.call("POST", CLASSIFY, json=HELLO))
        while not play.calls:
            await asyncio.sleep(0)
        for stream in (False, True):
            full = await play.made.call("POST", CLASSIFY, json=HELLO | {"stream": stream})
            assert error_of(full) == (429, "share_used")
        play.go.set()
        assert (await first).status_code == 200
        for stream in (True, False):
            assert (await play.made.call("POST", CLASSIFY, json=HELLO | {"stream": stream})).status_code == 200


def events(text: str) -> list[tuple[str, Any]]:
    """The events of a stream, without comments."""
    found = []
    for block in text.replace("\r\n", "\n").strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found
