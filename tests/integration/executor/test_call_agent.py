"""Agents called by the validator and the learner: answered once, however often they are asked."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rota_common.bus.rpc import call_long
from rota_common.errors import Permanent, Transient
from rota_common.testing.openai_server import ModelRequest, OpenAIServer, Reply, openai_server
from rota_common.testing.processes import Processes
from rota_common.testing.samples import MEMBER, TEAM
from rota_contracts import catalog
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.trigger import Message
from tests.integration.executor.harness import KEY, Harness, scripted


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(lambda asked: 'My verdict: {"passed": true, "score": 0.8}') as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, model: OpenAIServer) -> dict[str, Any]:
    return scripted(tmp_path / "connectors", model.url)


def a_call(call_id: str = "c1", assistant_id: str = "rota.validation", **fields: Any) -> CallAgent:
    given = {"call_id": call_id, "team_id": TEAM, "member_id": MEMBER, "assistant_id": assistant_id}
    return CallAgent.model_validate(given | {"messages": [Message(content="Judge this.")]} | fields)


async def ask(system: Harness, call: CallAgent) -> AgentReply:
    return await system.services["validator"].ask(catalog.CALL_AGENT, call)


async def test_an_agents_reply_has_its_text_and_the_json_in_it(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-88 EX-90 CL-22
    async with system.executor(**settings):
        answer = await ask(system, a_call())
    assert answer.content == 'My verdict: {"passed": true, "score": 0.8}'
    assert (answer.agent_id, answer.response, answer.error) == ("rota.validation", {"passed": True, "score": 0.8}, "")
    assert model.asked[0].words == "Judge this."


async def test_a_call_that_comes_again_gets_the_stored_answer(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-88
    async with system.executor(**settings):
        first = await ask(system, a_call())
        model.script = lambda asked: "something else"
        assert await ask(system, a_call()) == first
    async with system.executor(**settings):  # another replica, another day
        assert await ask(system, a_call()) == first
        assert (await ask(system, a_call("c2"))).content == "something else"
    assert len(model.asked) == 2


async def test_a_call_that_comes_twice_at_once_asks_the_model_once(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:
    go = asyncio.Event()

    async def slowly(asked: ModelRequest) -> str:
        await go.wait()
        return "at last"

    model.script = slowly
    async with system.executor(**settings):
        asking = [asyncio.create_task(ask(system, a_call())) for _ in range(5)]
        await model.received()
        await system.execution("unknown")  # all five have been heard by now: one connection keeps their order
        go.set()
        answers = await asyncio.gather(*asking)
    assert {answer.content for answer in answers} == {"at last"}
    assert len(model.asked) == 1


async def test_of_two_replicas_that_are_asked_the_same_one_asks_the_model(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-88
    go = asyncio.Event()

    async def slowly(asked: ModelRequest) -> str:
        await go.wait()
        return "at last"

    model.script = slowly
    async with system.executor(**settings), system.executor(**settings):
        asking = [asyncio.create_task(ask(system, a_call())) for _ in range(20)]  # some for each
        await model.received()
        go.set()
        answers = await asyncio.gather(*asking)
    assert {answer.content for answer in answers} == {"at last"}
    assert len(model.asked) == 1


@pytest.mark.soak
async def test_an_executor_that_is_killed_over_a_call_costs_its_lease(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], tmp_path: Path, mongo_url: str, mongo_prefix: str
) -> None:  # EX-88
    never = asyncio.Event()

    async def dies_over_the_first(asked: ModelRequest) -> str:
        if len(model.asked) == 1:
            await never.wait()
        return "at last"

    model.script = dies_over_the_first
    environ = {
        "ROTA_MONGO_PREFIX": mongo_prefix,
        "ROTA_CONNECTOR": "scripted",
        "ROTA_CONNECTORS_DIR": str(settings["connectors_dir"]),
        "ROTA_LEASE": "1.5",
    }
    processes = Processes(
        tmp_path, nats_url=system.nats_url, mongo_url=mongo_url, settings=environ | settings["environ"]
    )
    await processes.start("executor")
    await processes.ready("executor")
    calling = call_long(system.services["validator"].ask, catalog.CALL_AGENT, a_call(), timeout=60, every=10)
    asking = asyncio.create_task(calling)
    await model.received()
    await processes.kill("executor")
    async with system.executor(**settings):
        assert (await asking).content == "at last"
    never.set()
    assert len(model.asked) == 2


async def test_what_goes_wrong_with_the_agent_is_in_its_answer(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-90
    model.script = lambda asked: Reply(401, f"wrong key {KEY}")
    async with system.executor(**settings):
        refused = await ask(system, a_call())
        unknown = await ask(system, a_call("c2", "rota.unknown"))
        without = await ask(system, a_call("c3", model="gpt"))
    assert refused.error.startswith("model scripted at 127.0.0.1:")
    assert "refuses the request (401, the key is refused)" in refused.error
    assert KEY not in refused.error
    assert unknown.error == "there is no agent rota.unknown: `rota agents list` shows those that there are"
    assert without.error.endswith("not 'gpt'")


async def test_a_temporary_failure_is_transient_and_not_stored(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:
    model.script = lambda asked: Reply(429)
    async with system.executor(**settings):
        with pytest.raises(Transient, match="429, too many requests"):
            await ask(system, a_call())
        model.script = lambda asked: "now"
        assert (await ask(system, a_call())).content == "now"


async def test_an_agent_that_takes_too_long_is_given_up(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-91
    never = asyncio.Event()

    async def waits(asked: ModelRequest) -> str:
        await never.wait()
        return ""

    model.script = waits
    async with system.executor(**settings):
        answer = await ask(system, a_call(timeout=0.3))
        never.set()
    assert answer.error == "no answer within 0.3 s"


async def test_a_call_without_what_it_needs_is_refused(system: Harness, settings: dict[str, Any]) -> None:  # EX-90
    async with system.executor(**settings):
        with pytest.raises(Permanent, match="messages"):
            await ask(system, a_call().model_copy(update={"messages": []}))


async def test_an_agent_called_for_an_execution_knows_whose_it_is(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-28
    system.silent.add("delivery-center")
    async with system.executor(**settings | {"connector": "rehearsal"}):
        await system.request(locale="fr-FR")
        await system.ignored.get()
        await ask(system, a_call(execution_id="e1", model="scripted"))
        await ask(system, a_call("c2", execution_id="e1", model="scripted", team_id="initech"))
    mine, theirs = (asked.system for asked in model.asked)
    assert "Sales Analyst" in mine
    assert "a member of the team" in theirs
    assert "Sales Analyst" not in theirs  # another team's execution says nothing to this team


async def test_an_agent_called_for_a_dry_run_asks_no_model(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-08
    async with system.executor(**settings):
        await system.request(executor_mode="dryrun")
        await system.finished()
        answer = await ask(system, a_call(execution_id="e1"))
    assert answer.response == {"passed": True, "score": 0.9, "issues": [], "details": "Rehearsed: it holds."}
    assert model.asked == []
