"""The adapter to real models, held against a server that speaks their protocol."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator

import pytest

from executor.adapters.litellm_model import LitellmModel
from executor.agents.connectors import Connector
from executor.domain.conversation.chat import ChatMessage, ModelReply, Tool, ToolCall
from executor.model_port import ContextOverflow, NotTaken, Prompt
from rota_common.errors import Permanent, Transient
from rota_common.testing.model_answers import Completion
from rota_common.testing.openai_server import OpenAIServer, Reply, openai_server
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.trigger import Message

KEY = "sk-a-secret"


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with openai_server(lambda asked: "hello") as made:
        yield made


def prompt(server: OpenAIServer, *, timeout: float = PATIENCE_S) -> Prompt:
    connector = Connector("mine", "Mine", "openai", "small", KEY, server.url, {"max_tokens": 50, "temperature": 1.0})
    return Prompt([Message(role="user", content="Hi!")], connector, timeout, "step-1", {"temperature": 0.1})


async def failure(server: OpenAIServer, given: Prompt | None = None) -> Exception:
    with pytest.raises((Transient, Permanent)) as raised:
        await LitellmModel().complete(given or prompt(server))
    return raised.value


async def test_the_agents_options_go_before_the_connectors_parameters(server: OpenAIServer) -> None:  # CL-10
    assert (await LitellmModel().complete(prompt(server))).text == "hello"
    (asked,) = server.asked
    assert asked.body["messages"] == [{"role": "user", "content": "Hi!"}]
    assert (asked.body["model"], asked.body["temperature"], asked.body["max_tokens"]) == ("small", 0.1, 50)
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["x-rota-step-id"] == "step-1"
    assert "tools" not in asked.body


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_what_passes_is_transient_and_asked_once(server: OpenAIServer, status: int) -> None:  # EX-61
    server.script = lambda asked: Reply(status, "busy")
    error = await failure(server)
    assert isinstance(error, Transient)
    assert str(error).startswith(f"model small at 127.0.0.1:{server.url.split(':')[2][:-3]} can't answer now ({status}")
    assert (error.after, len(server.asked)) == (None, 1)  # retries belong to the bus
    assert isinstance(error, NotTaken) is (status in (409, 429, 503, 529))  # what others say may have been billed


@pytest.mark.parametrize(
    ("header", "after"), [("0.3", 0.3), ("7", 7), ("86400", 3600), ("-1", None), ("soon", None), ("nan", None)]
)
@pytest.mark.parametrize("status", [429, 503])
async def test_the_delay_that_the_server_asks_for_is_kept(
    server: OpenAIServer, status: int, header: str, after: float | None
) -> None:
    server.script = lambda asked: Reply(status, "busy", {"retry-after": header})
    error = await failure(server)
    assert isinstance(error, Transient)
    assert error.after == after


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
async def test_what_is_refused_is_permanent_and_says_why(server: OpenAIServer, status: int) -> None:
    server.script = lambda asked: Reply(status, f"no, and your key {KEY} is wrong")
    error = await failure(server)
    assert isinstance(error, Permanent)
    assert "no, and your key [REDACTED] is wrong" in str(error)
    assert KEY not in str(error)


async def test_a_prompt_that_is_too_long_is_no_refusal_like_others(server: OpenAIServer) -> None:  # EX-60
    texts = {
        "This model's maximum context length is 8192 tokens, however you requested 9000 tokens": True,
        "the request exceeds the available context size, try increasing it": True,
        "the field tools is not known": False,
    }
    found = {}
    for text in texts:
        server.script = lambda asked, text=text: Reply(400, text)
        found[text] = isinstance(await failure(server), ContextOverflow)
    assert found == texts


async def test_a_server_that_does_not_answer_in_time_is_transient(server: OpenAIServer) -> None:
    forever = asyncio.Event()

    async def never(_: object) -> str:
        await forever.wait()
        return ""

    server.script = never
    error = await failure(server, prompt(server, timeout=0.2))
    assert isinstance(error, Transient)
    assert not isinstance(error, NotTaken)  # it may have been billed
    assert str(error).endswith("doesn't answer (timeout)")
    forever.set()


async def test_a_server_that_is_not_there_is_transient(server: OpenAIServer) -> None:
    given = prompt(server)
    away = dataclasses.replace(given, connector=dataclasses.replace(given.connector, host="http://127.0.0.1:9/v1"))
    error = await failure(server, away)
    assert isinstance(error, NotTaken)
    assert str(error) == "model small at 127.0.0.1:9 doesn't answer (connection refused)"


async def test_an_answer_without_text_is_an_empty_one(server: OpenAIServer) -> None:
    server.script = lambda asked: ""
    assert (await LitellmModel().complete(prompt(server))).model_copy(update={"call": None}) == ModelReply()


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [Tool("web__weather", "web", "weather", "The weather of a city.", SCHEMA), Tool("web__now", "web", "now")]


async def test_tools_go_along_and_calls_of_them_come_back(server: OpenAIServer) -> None:
    server.script = lambda asked: Completion(
        [("web__weather", {"city": "Bern"}), ("web__now", "")], text="Let me look."
    )
    said = await LitellmModel().complete(dataclasses.replace(prompt(server), tools=TOOLS))
    assert said.model_copy(update={"call": None}) == ModelReply(
        text="Let me look.",
        calls=[
            ToolCall(id="call_1", name="web__weather", arguments={"city": "Bern"}),
            ToolCall(id="call_2", name="web__now"),
        ],
    )
    described = {"name": "web__weather", "description": "The weather of a city.", "parameters": SCHEMA}
    assert server.asked[0].body["tools"][0] == {"type": "function", "function": described}


async def test_the_reasoning_that_a_server_sets_apart_comes_back(server: OpenAIServer) -> None:  # EX-45
    server.script = lambda asked: Completion([("web__now", {})], text="Let me look.", reasoning="What time is it?")
    said = await LitellmModel().complete(dataclasses.replace(prompt(server), tools=TOOLS))
    assert (said.text, said.reasoning) == ("Let me look.", "What time is it?")


@pytest.mark.parametrize("given", ['{"city": ', "[1]", "Bern", "NaN"])
async def test_arguments_that_are_no_object_are_kept_as_they_came(server: OpenAIServer, given: str) -> None:
    server.script = lambda asked: Completion([("web__weather", given)])
    said = await LitellmModel().complete(dataclasses.replace(prompt(server), tools=TOOLS))
    assert said.calls == [ToolCall(id="call_1", name="web__weather", arguments={"_unreadable": given})]


async def test_a_conversation_with_tools_has_the_form_of_the_protocol(server: OpenAIServer) -> None:
    calls = [ToolCall(id="c1", name="web__now", arguments={"zone": "Zürich"})]
    messages = [
        Message(role="user", content="Hi!"),
        ChatMessage(role="assistant", content="", tool_calls=calls),
        ChatMessage(role="tool", content="noon", tool_call_id="c1"),
    ]
    await LitellmModel().complete(dataclasses.replace(prompt(server), tools=TOOLS, messages=messages))
    function = {"name": "web__now", "arguments": '{"zone": "Zürich"}'}
    assert server.asked[0].body["messages"][1:] == [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "content": "noon", "tool_call_id": "c1"},
    ]


async def test_a_name_that_a_model_made_up_does_no_harm_to_the_conversation(server: OpenAIServer) -> None:
    calls = [ToolCall(id=name, name=name) for name in ("crm.wipe", "всё", "x" * 100, "")]
    answers = [ChatMessage(role="tool", content="there is no such tool", tool_call_id=call.id) for call in calls]
    messages = [Message(role="user", content="Hi!"), ChatMessage(role="assistant", content="", tool_calls=calls)]
    await LitellmModel().complete(dataclasses.replace(prompt(server), tools=TOOLS, messages=[*messages, *answers]))
    sent = server.asked[0].body["messages"][1]["tool_calls"]
    assert [call["function"]["name"] for call in sent] == ["crm_wipe", "___", "x" * 64, "call"]


async def test_a_model_whose_temperature_is_fixed_gets_none(server: OpenAIServer) -> None:  # CL-13
    given = prompt(server)
    fixed = dataclasses.replace(given.connector, capabilities={"temperature_adjustable": False})
    await LitellmModel().complete(dataclasses.replace(given, connector=fixed))
    assert "temperature" not in server.asked[0].body


async def test_a_model_without_tool_calls_gets_neither_tools_nor_a_choice(server: OpenAIServer) -> None:  # CL-16
    given = dataclasses.replace(prompt(server), tools=TOOLS, options={"tool_choice": "auto"})
    await LitellmModel().complete(given)
    unable = dataclasses.replace(given.connector, capabilities={"tool_calls": False})
    await LitellmModel().complete(dataclasses.replace(given, connector=unable))
    with_tools, without = (asked.body for asked in server.asked)
    assert with_tools["tool_choice"] == "auto"
    assert without.keys() & {"tools", "tool_choice"} == set()
