"""Questions that take long, on a real bus: their answerer may die meanwhile."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from rota_common.bus.agents import call_agent
from rota_common.bus.router import Router
from rota_common.bus.rpc import NoReply, StillWorking, call_long
from rota_common.errors import Permanent, Transient
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_common.testing.crash import crash
from rota_contracts.catalog import CALL_AGENT
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.trigger import Message
from tests.integration.common.harness import running

CALL = CallAgent(
    call_id="c1", team_id="acme", member_id="ann", assistant_id="rota.learning", messages=[Message(content="Learn.")]
)
Answer = Callable[[CallAgent], Awaitable[AgentReply]]


def replica(url: str, answer: Answer) -> Service:
    router = Router()
    router.answer(CALL_AGENT, answer)
    service = Service("executor", url)
    service.include(router)
    return service


@pytest.fixture
async def learner(nats: EmbeddedServer) -> AsyncIterator[Service]:
    service = Service("learner", nats.url)
    async with running(service):
        yield service


async def answer_at_once(call: CallAgent) -> AgentReply:
    return AgentReply(agent_id=call.assistant_id, content=call.call_id)


async def test_a_responder_that_dies_costs_one_slice(nats: EmbeddedServer, learner: Service) -> None:
    reached, never = asyncio.Event(), asyncio.Event()

    async def hangs(call: CallAgent) -> AgentReply:
        reached.set()
        await never.wait()
        return await answer_at_once(call)

    dying = replica(nats.url, hangs)
    await dying.start()
    await dying.started.wait()
    asking = asyncio.create_task(call_long(learner.ask, CALL_AGENT, CALL, timeout=20, every=1.5))
    await reached.wait()
    crashing = asyncio.create_task(crash(dying))
    async with running(replica(nats.url, answer_at_once)):
        assert (await asking).content == "c1"
    never.set()
    await crashing


async def test_a_call_waits_for_a_responder_that_starts_later(nats: EmbeddedServer, learner: Service) -> None:
    asking = asyncio.create_task(call_agent(learner.ask, CALL))
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(asking), 0.2)
    async with running(replica(nats.url, answer_at_once)):
        assert (await asking).content == "c1"


async def test_a_responder_that_is_still_working_gets_the_same_request_again(
    nats: EmbeddedServer, learner: Service
) -> None:
    calls: list[CallAgent] = []

    async def slowly(call: CallAgent) -> AgentReply:
        calls.append(call)
        if len(calls) < 3:
            raise StillWorking("no answer yet")
        return await answer_at_once(call)

    async with running(replica(nats.url, slowly)):
        assert (await call_agent(learner.ask, CALL)).content == "c1"
    assert calls == [CALL] * 3


async def test_a_call_ends_at_its_timeout(learner: Service) -> None:
    time = asyncio.get_running_loop().time
    began = time()
    with pytest.raises(NoReply, match=r"no answer to rota\.v1\.rpc\.executor\.call_agent within 1\.2 s: executor"):
        await call_long(learner.ask, CALL_AGENT, CALL, timeout=1.2)
    assert 1 <= time() - began < 3


@pytest.mark.parametrize("error", [Permanent("no such agent"), Transient("rate limited")])
async def test_a_refused_call_is_not_repeated(nats: EmbeddedServer, learner: Service, error: Exception) -> None:
    calls: list[CallAgent] = []

    async def refuses(call: CallAgent) -> AgentReply:
        calls.append(call)
        raise error

    async with running(replica(nats.url, refuses)):
        with pytest.raises(type(error), match=str(error)):
            await call_agent(learner.ask, CALL)
    assert len(calls) == 1
