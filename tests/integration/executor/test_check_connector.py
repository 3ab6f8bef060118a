"""The test of a connector, over HTTP against a server that speaks its model's protocol."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from executor.adapters.in_memory_budget import ConnectorPrices, InMemoryBudget
from executor.adapters.litellm_model import LitellmModel
from executor.adapters.rehearsal_model import RehearsalModel
from executor.agents.connectors import Connectors
from executor.agents.team_ceilings import TeamCeilings
from executor.agents.team_view import TeamViews
from executor.call_agents import no_robot
from executor.check_connector import CheckConnector
from executor.spending.metered_model import Meter
from executor.steps.models import Models
from rota_common.testing.model_answers import Completion, Usage
from rota_common.testing.openai_server import ModelRequest, OpenAIServer, Reply, openai_server
from rota_common.testing.samples import TEAM
from rota_contracts.messages.provider import CheckOutcome, TryConnector, TryConnectorReply

pytestmark = pytest.mark.filterwarnings(
    "ignore::pydantic.warnings.PydanticDeprecatedSince211"  # in litellm's own chunks
)

KEY = "sk-a-secret-key-7"
FILE = f"""
label: Mine
teams: [{TEAM}]
type: openai
options:
  model: small
  key: {KEY}
  host: {{host}}
  price: {{{{input_per_million: 1, output_per_million: 10}}}}
  capabilities: {{{{json: true, inline_thinking: false}}}}
"""
USED = Usage(tokens_in=100, tokens_out=10)


def able(asked: ModelRequest) -> Completion:
    """A model that can all of it, by what its request holds."""
    if "tools" in asked.body:
        return Completion([("weather", {"city": "Paris"})], usage=USED)
    if "response_format" in asked.body:
        return Completion(text='{"city": "Paris"}', usage=USED)
    return Completion(text="red" if "data:image/png" in str(asked.body["messages"]) else "one, two", usage=USED)


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with openai_server(able) as made:
        yield made


@pytest.fixture
def tested(server: OpenAIServer, tmp_path: Path) -> Callable[[], Any]:
    async def observe(*_: object) -> None: ...

    async def test() -> TryConnectorReply:
        (tmp_path / "mine.yaml").write_text(FILE.format(host=server.url))
        meter = Meter(
            budget=InMemoryBudget(),
            prices=ConnectorPrices(),
            ceilings=TeamCeilings(),
            find_robot=no_robot,
            observe=observe,
        )
        connectors = Connectors("mine", environ={}, folder=tmp_path)
        models = Models(
            views=TeamViews(connectors=connectors), real=LitellmModel(), rehearsal=RehearsalModel(), meter=meter
        )
        return await CheckConnector(models=models)(TryConnector(team_id=TEAM, connector="mine"))

    return test


async def test_each_check_is_one_short_request_and_all_of_an_able_model_works(
    server: OpenAIServer, tested: Callable[[], Any]
) -> None:
    reply = await tested()
    assert {check.name: check.problem for check in reply.checks if check.outcome is not CheckOutcome.WORKS} == {}
    assert (reply.calls, reply.usage.tokens_in, reply.cost, reply.currency) == (5, 500, 0.001, "USD")
    assert [bool(asked.body.get("stream")) for asked in server.asked] == [False, True, False, False, False]
    assert {asked.body["max_tokens"] for asked in server.asked} == {256}


async def test_a_model_that_can_nothing_but_talk_is_found_out(server: OpenAIServer, tested: Callable[[], Any]) -> None:
    def refuses_forms(asked: ModelRequest) -> Any:
        return Reply(400, "response_format isn't supported") if "response_format" in asked.body else "Hello!"

    server.script = refuses_forms
    assert {check.name: check.problem for check in (await tested()).checks if check.problem} == {
        "tools": 'expected a call of the tool weather with a city, got "Hello!"',
        "json": 'expected JSON alone, got "Hello!"',
        "vision": 'expected the picture\'s colour, red, got "Hello!"',
    }


async def test_a_refusal_names_neither_key_nor_address_and_ends_the_test(
    server: OpenAIServer, tested: Callable[[], Any]
) -> None:
    server.script = lambda asked: Reply(401, f"wrong key {KEY} at {server.url}/chat/completions")
    reply = await tested()
    assert [check.outcome for check in reply.checks] == [CheckOutcome.FAILS, *[CheckOutcome.NOT_TRIED] * 4]
    assert "(401, the key is refused)" in reply.checks[0].problem
    shown = reply.model_dump_json()
    assert [secret for secret in (KEY, "127.0.0.1", server.url) if secret in shown] == []
    assert len(server.asked) == 1
