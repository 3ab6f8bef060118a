"""Answers held to a JSON Schema, where the connector's file says that its model can be."""

import dataclasses
from collections.abc import AsyncIterator

import pytest

from executor.adapters.litellm_model import LitellmModel
from executor.agents.connectors import Connector
from executor.agents.sections.schemas import schema
from executor.model_port import Prompt
from rota_common.errors import Transient
from rota_common.testing.model_answers import Completion
from rota_common.testing.openai_server import Answer, ModelRequest, OpenAIServer, Reply, openai_server
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.trigger import Message

GOALS = {"content": "1. Score it"}
SCHEMA = schema("goals", asked=True)
ANSWER = '{"content": "1. Score it"}'


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with openai_server(lambda asked: ANSWER) as made:
        yield made


def prompt(type: str, model: str, host: str, **capabilities: bool) -> Prompt:
    connector = Connector("mine", "Mine", type, model, "sk-a-secret", host, capabilities={**capabilities})
    return Prompt([Message(role="user", content="Hi!")], connector, PATIENCE_S, "step-1", schema=SCHEMA)


async def test_the_form_goes_along_as_a_schema_where_the_connector_knows_json(server: OpenAIServer) -> None:
    given = prompt("openai", "m", server.url, json=True)
    unknown = dataclasses.replace(given, connector=dataclasses.replace(given.connector, capabilities={}))
    for each in (given, unknown, dataclasses.replace(given, schema=None)):
        assert (await LitellmModel().complete(each)).text == ANSWER
    named = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    assert [asked.body.get("response_format") for asked in server.asked] == [named, None, None]


@pytest.mark.parametrize("model", ["claude-3-5-haiku-20241022", "claude-sonnet-4-5"])
async def test_of_anthropic_it_is_a_forced_tool_or_a_schema_and_the_answer_is_text(
    server: OpenAIServer, model: str
) -> None:
    def script(asked: ModelRequest) -> Answer:
        forced = asked.body.get("tool_choice") or {}
        return Completion([(forced["name"], GOALS)]) if forced else ANSWER

    server.script = script
    said = await LitellmModel().complete(prompt("anthropic", model, server.anthropic_url, json=True))
    assert (said.text, said.calls) == (ANSWER, [])
    (asked,) = server.asked
    tools = [each["input_schema"] for each in asked.body.get("tools", [])]
    native = [(asked.body.get(name) or {}).get("schema") for name in ("output_format",)]
    shown = [each["properties"] for each in [*tools, *native] if each]
    assert shown == [SCHEMA["properties"] if SCHEMA else None]


REFUSALS = {
    400: "Unsupported parameter: 'response_format' of type 'json_schema' is not supported",
    500: "1 validation error: {'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text'\"}",
}
"""In the words of OpenAI's API, and of llama-cpp-python, which calls it an error of its own."""


@pytest.mark.parametrize("status", REFUSALS)
async def test_a_server_that_takes_no_schema_is_asked_again_without_and_remembered(
    server: OpenAIServer, status: int
) -> None:
    refused = Reply(status, REFUSALS[status])
    server.script = lambda asked: refused if "response_format" in asked.body else ANSWER
    model, given = LitellmModel(), prompt("openai", "m", server.url, json=True)
    assert [await _answered(model, given) for _ in range(2)] == [ANSWER, ANSWER]
    assert ["response_format" in asked.body for asked in server.asked] == [True, False, False]


async def test_a_refused_form_of_one_robots_owner_is_left_out_for_that_call_alone(server: OpenAIServer) -> None:
    refused = Reply(400, "Invalid schema for response_format 'answer'")
    server.script = lambda asked: refused if "own" in str(asked.body.get("response_format")) else ANSWER
    model, given = LitellmModel(), prompt("openai", "m", server.url, json=True)
    own = dataclasses.replace(given, own_form=True, schema={"type": "object", "title": "own"})
    assert [await _answered(model, each) for each in (own, given)] == [ANSWER, ANSWER]
    assert ["response_format" in asked.body for asked in server.asked] == [True, False, True]


async def _answered(model: LitellmModel, given: Prompt) -> str:
    """A kept connection that the server has closed meanwhile is a failure that passes, as for a run."""
    try:
        return (await model.complete(given)).text
    except Transient:
        return (await model.complete(given)).text
