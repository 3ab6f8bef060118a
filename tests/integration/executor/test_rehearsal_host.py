"""A rehearsal connector with a host, which answers for the model."""

import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from executor.adapters.rehearsal_model import RehearsalModel
from executor.agents.connectors import Connector
from executor.domain.conversation.chat import ChatMessage, ModelReply, Tool, ToolCall
from executor.model_port import Prompt
from rota_common.errors import Permanent, Transient
from rota_common.runtime import embedded_http
from rota_contracts.messages.trigger import Message

CALL = ToolCall(id="1", name="web__now", arguments={"zone": "UTC"})


class Host:
    def __init__(self) -> None:
        self.url, self.asked = "", list[dict[str, Any]]()
        self.answer: Response = JSONResponse({"text": "done", "calls": [CALL.model_dump()]})

    async def __call__(self, request: Request) -> Response:
        self.asked.append(await request.json())
        return self.answer


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    made = Host()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        made.url = f"http://127.0.0.1:{listener.getsockname()[1]}/ask"
        app = Starlette(routes=[Route("/ask", made.__call__, methods=["POST"])])
        async with embedded_http.serve(app, listener, lifespan="off", close_timeout=0):
            yield made


def prompt(url: str) -> Prompt:
    messages = [
        Message(content="Hi!"),
        ChatMessage(role="assistant", content="", tool_calls=[CALL]),
        ChatMessage(role="tool", content="noon", tool_call_id="1"),
    ]
    tools = [Tool("web__now", "web", "now")]
    connector = Connector("mine", "Mine", "rehearsal", host=url)
    return Prompt(messages, connector, 5, "step-1", facts={"kind": "run", "about": "Globex"}, tools=tools)


async def test_the_host_is_asked_with_the_step_and_answers_for_the_model(host: Host) -> None:
    assert await RehearsalModel().complete(prompt(host.url)) == ModelReply(text="done", calls=[CALL])
    (asked,) = host.asked
    assert (asked["step_id"], asked["kind"], asked["tools"], asked["rounds"]) == ("step-1", "run", ["web__now"], 1)
    assert asked["facts"]["about"] == "Globex"


async def test_a_host_that_is_down_or_busy_is_retried(host: Host) -> None:
    host.answer = Response(status_code=503)
    for url, reason in ((host.url, "answered 503"), ("http://127.0.0.1:9/ask", "ConnectError")):
        with pytest.raises(Transient, match=f"the host of connector mine.*{reason}"):
            await RehearsalModel().complete(prompt(url))


@pytest.mark.parametrize("answer", [Response(status_code=404), Response("done"), JSONResponse({"calls": 1})])
async def test_an_answer_that_can_not_be_used_is_refused(host: Host, answer: Response) -> None:
    host.answer = answer
    with pytest.raises(Permanent, match=r"expected \{text, calls\}, got"):
        await RehearsalModel().complete(prompt(host.url))
