"""The validator on a real bus, beside a stub of the executor."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import nats as nats_py
import pytest

from rota_common.asking import Ask
from rota_common.blobs import Blobs
from rota_common.embedded import EmbeddedServer
from rota_common.errors import Permanent, Transient
from rota_common.middlewares import AnyHandler
from rota_common.router import Router
from rota_common.service import Runtime, Service
from rota_common.testing.bus import Listener, stored
from rota_common.testing.chaos import twice
from rota_contracts.agent import AgentAnswered, CallAgent
from rota_contracts.catalog import CALL_AGENT, CHECK_RULES, VALIDATION_COMPLETED, VALIDATION_REQUESTED
from rota_contracts.text import Text
from rota_contracts.validation import Assertion, AssertionType, CheckRules, ValidationRequestedV1
from validator.app import build
from validator.settings import Settings

Answer = Callable[[CallAgent], AgentAnswered]


class Executor:
    """Asks the validator, and answers its calls of agents with what the test says."""

    def __init__(self, url: str) -> None:
        self.calls: list[CallAgent] = []
        self.says: Answer = lambda call: AgentAnswered(
            agent_id=call.assistant_id, content='{"passed": true, "score": 0.8}'
        )
        self.service = Service("executor", url, runtime=Runtime(fetch_timeout=0.3))
        router = Router()
        router.answer(CALL_AGENT)(self._answer)
        self.service.include(router)

    async def _answer(self, call: CallAgent) -> AgentAnswered:
        self.calls.append(call)
        return self.says(call)

    async def request(self, **fields: Any) -> None:
        given = {"validation_id": "v1", "execution_id": "e1", "task_id": "t1", "description": "a haiku"}
        given |= {"team_id": "acme", "member_id": "writer", "output": Text(inline="Rain")}
        event = ValidationRequestedV1.model_validate(given | fields)
        await self.service.publish(VALIDATION_REQUESTED, event, caused_by=event.validation_id)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Executor"]:
        await self.service.start()
        await self.service.started.wait()
        yield self
        await self.service.stop(1)


@asynccontextmanager
async def validator(url: str, **runtime: Any) -> AsyncIterator[Service]:
    service = build(Settings(nats_url=url), runtime=Runtime(fetch_timeout=0.3, **runtime)).service
    await service.start()
    await service.started.wait()
    yield service
    await service.stop(1)


@pytest.fixture
def executor(nats: EmbeddedServer) -> AbstractAsyncContextManager[Executor]:
    return Executor(nats.url).running()


async def test_rules_are_checked_by_request_and_reply(
    nats: EmbeddedServer, executor: AbstractAsyncContextManager[Executor]
) -> None:  # VA-01
    rules = [Assertion(type=AssertionType.REGEX, value="^R"), '{"type": "contains", "value": "sun"}', "Be kind."]
    async with executor as asker, validator(nats.url):
        found = await asker.service.ask(CHECK_RULES, CheckRules(rules=rules, output=Text(inline="Rain")))
    assert (found.verdict.passed, found.verdict.score, found.open_rules) == (False, 0.5, ["Be kind."])


async def test_an_output_too_long_for_a_message_is_read_from_the_store(
    nats: EmbeddedServer, executor: AbstractAsyncContextManager[Executor]
) -> None:
    rule = Assertion(type=AssertionType.REGEX, value="needle$")
    async with executor as asker, validator(nats.url):
        output = await Blobs(asker.service.bus).keep("hay " * 100_000 + "needle")
        assert output.ref is not None
        assert (await asker.service.ask(CHECK_RULES, CheckRules(rules=[rule], output=output))).verdict.passed
        await asker.request(output=output)
        verdict = (await completed(nats.url))[0].verdict
    assert verdict.passed
    assert "its first 60000 of 400006 characters" in asker.calls[0].messages[0].text()


async def completed(url: str, count: int = 1) -> list[Any]:
    """The verdicts, once there are `count`."""
    listener = await Listener.to(url, VALIDATION_COMPLETED.pattern)
    have = len(await stored(url, VALIDATION_COMPLETED))
    if have < count:
        await listener.heard(count - have)
    await listener.close()
    return [event.data for event in await stored(url, VALIDATION_COMPLETED)]


async def test_a_request_is_answered_with_one_verdict_however_often_it_comes(
    nats: EmbeddedServer, executor: AbstractAsyncContextManager[Executor]
) -> None:
    async with executor as asker, validator(nats.url, middlewares=[twice]):
        await asker.request()
        (fact,) = await completed(nats.url)
        await asker.request(validation_id="v2")
        verdicts = await completed(nats.url, 2)
    assert (fact.verdict.passed, fact.verdict.score, fact.error) == (True, 0.8, None)
    assert [verdict.validation_id for verdict in verdicts] == ["v1", "v2"]
    assert {call.call_id for call in asker.calls} == {"v1", "v2"}


async def test_the_verdict_continues_the_trace_of_its_request(
    nats: EmbeddedServer, executor: AbstractAsyncContextManager[Executor]
) -> None:
    async with executor as asker, validator(nats.url):
        await asker.request()
        await completed(nats.url)
    (asked,), (answered,) = await stored(nats.url, VALIDATION_REQUESTED), await stored(nats.url, VALIDATION_COMPLETED)
    assert answered.cause == "v1"
    assert answered.traceparent.split("-")[1] == asked.traceparent.split("-")[1]


async def test_a_verdict_waits_for_an_executor_that_is_away(nats: EmbeddedServer) -> None:
    asked_in_vain = asyncio.Event()

    def noting(handler: AnyHandler) -> AnyHandler:
        async def noted(message: Any) -> Any:
            try:
                return await handler(message)
            except Transient:
                asked_in_vain.set()
                raise

        return noted

    executor = Executor(nats.url)
    await executor.service.bus.connect()
    async with validator(nats.url, middlewares=[noting]):
        await executor.request()
        await asyncio.wait_for(asked_in_vain.wait(), 10)
        async with executor.running():
            assert (await completed(nats.url))[0].verdict.passed


async def test_a_refused_call_still_gets_an_answer(
    nats: EmbeddedServer, executor: AbstractAsyncContextManager[Executor]
) -> None:
    def refuse(call: CallAgent) -> AgentAnswered:
        raise Permanent(f"there is no agent {call.assistant_id}")

    async with executor as asker, validator(nats.url):
        asker.says = refuse
        await asker.request(agent="experts.nobody")
        (fact,) = await completed(nats.url)
    assert fact.error == "there is no agent experts.nobody"
    assert not fact.verdict.passed


async def test_a_question_the_contract_does_not_know_is_refused(nats: EmbeddedServer) -> None:
    async with validator(nats.url):
        client = await nats_py.connect(nats.url)
        reply = await client.request(CHECK_RULES.subject, b'{"rules": [{"type": "vibes"}], "output": {"inline": ""}}')
        await client.close()
    assert reply.headers is not None
    assert reply.headers["rota-error"] == "permanent"


async def test_only_the_executor_may_ask(nats: EmbeddedServer) -> None:
    async with validator(nats.url) as service:
        with pytest.raises(ValueError, match="may not ask"):
            await Ask(service.bus, by="learner")(CHECK_RULES, CheckRules(rules=[], output=Text(inline="")))
