"""Connectors that teams wrote, asked through litellm: public addresses alone, and nothing of the operator's."""

from collections.abc import AsyncIterator

import pytest

from executor.adapters.guarded_transport import GuardedTransport
from executor.adapters.litellm_model import LitellmModel
from executor.agents.connectors import Connector
from executor.domain.conversation.chat import ModelReply
from executor.model_port import NoAnswer, Prompt
from rota_common.errors import Permanent
from rota_common.testing.openai_server import OpenAIServer, Reply, openai_server
from rota_common.testing.patience import PATIENCE_S
from rota_common.urls import networks
from rota_contracts.messages.trigger import Message

OPERATORS = "sk-of-the-operator"
NAMES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_ORGANIZATION", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
ADDRESSES = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL", "HTTP_PROXY")


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with openai_server(lambda asked: "hello") as made:
        yield made


async def ask(kind: str, host: str, *, key: str = "", model: str = "small", allowed: str = "127.0.0.0/8") -> ModelReply:
    guarded = GuardedTransport(allowed=networks(allowed))
    connector = Connector("fast", "Fast", kind, model, key, host, owner="acme")
    prompt = Prompt([Message(role="user", content="Hi!")], connector, PATIENCE_S, "step-1")
    return await LitellmModel(guarded).complete(prompt)


async def test_a_call_has_the_teams_key_and_nothing_of_the_environment(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, OPERATORS)
    for name in ADDRESSES:
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for kind, host, header in (
        ("openai", server.url, "authorization"),
        ("anthropic", server.anthropic_url, "x-api-key"),
    ):
        for key in ("sk-of-the-team", ""):
            with subtests.test(kind=kind, key=key):
                server.asked.clear()
                assert (await ask(kind, host, key=key)).text == "hello"
                (asked,) = server.asked
                assert asked.headers[header].removeprefix("Bearer ") == (key or "none")
                assert OPERATORS not in str(asked.headers)


async def test_a_private_address_is_refused_before_it_is_connected_to(
    server: OpenAIServer, subtests: pytest.Subtests
) -> None:
    for kind, host in (("openai", server.url), ("anthropic", server.anthropic_url)):
        refused = pytest.raises(Permanent, match="connector fast can't be used: .* is not a public address")
        with subtests.test(kind=kind), refused:
            await ask(kind, host, allowed="")
    with pytest.raises(Permanent, match="expected a model of chat completions where there is a host, got o1-pro"):
        await ask("openai", server.url, model="o1-pro")
    assert server.asked == []


async def test_a_redirect_is_not_followed(server: OpenAIServer, subtests: pytest.Subtests) -> None:
    async with openai_server(lambda asked: Reply(307, "elsewhere", {"location": server.url})) as first:
        for kind, host in (("openai", first.url), ("anthropic", first.anthropic_url)):
            with subtests.test(kind=kind), pytest.raises((Permanent, NoAnswer)):
                await ask(kind, host)
    assert (len(first.asked), server.asked) == (2, [])
