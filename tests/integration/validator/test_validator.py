"""The validator on a real bus, beside a stub of the executor."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import nats as nats_py
import pytest

from rota_common.bus.middlewares import AnyHandler
from rota_common.bus.router import Router
from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime, Service
from rota_common.stores.blobs import Blobs
from rota_common.testing.bus import Listener, stored
from rota_common.testing.chaos import twice
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import CALL_AGENT, CHECK_RULES, VALIDATION_COMPLETED, VALIDATION_REQUESTED
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import Assertion, AssertionType, CheckRules, Conversation, ValidationRequestedV1
from validator.app import build
from validator.settings import Settings

Answer = Callable[[CallAgent], AgentReply]


class Executor:
    """Asks the validator, and answers its calls of agents with what the test says."""

    def __init__(self, url: str) -> None:
        self.calls: list[CallAgent] = []
        self.says: Answer = lambda call: AgentReply(
            agent_id=call.assistant_id, content='{"passed": true, "score": 0.8}'
        )
        self.service = Service("executor", url, runtime=Runtime(fetch_timeout=0.3))
        router = Router()
        router.answer(CALL_AGENT)(self._answer)
        self.service.include(router)

    async def _answer(self, call: CallAgent) -> AgentReply:
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
async def validator(url: str, *, scripts_dir: str = "", **runtime: Any) -> AsyncIterator[Service]:
    settings = Settings(nats_url=url, scripts_dir=scripts_dir)
    service = build(settings, runtime=Runtime(fetch_timeout=0.3, **runtime)).service
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
    asking = asyncio.Event()

    def noting(handler: AnyHandler) -> AnyHandler:
        async def noted(message: Any) -> Any:
            asking.set()
            return await handler(message)

        return noted

    executor = Executor(nats.url)
    await executor.service.bus.connect()
    async with validator(nats.url, middlewares=[noting]):
        await executor.request()
        await asyncio.wait_for(asking.wait(), PATIENCE_S)
        async with executor.running():
            assert (await completed(nats.url))[0].verdict.passed


async def test_a_refused_call_still_gets_an_answer(
    nats: EmbeddedServer, executor: AbstractAsyncContextManager[Executor]
) -> None:
    def refuse(call: CallAgent) -> AgentReply:
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
        reply = await client.request(CHECK_RULES.subject, b'{"rules": [{"value": 1}], "output": {"inline": ""}}')
        await client.close()
    assert reply.headers is not None
    assert reply.headers["rota-error"] == "permanent"


TALK = Conversation(turn=1, max_turns=3)


async def test_every_kind_of_rule_in_one_question(
    nats: EmbeddedServer, executor: AbstractAsyncContextManager[Executor], tmp_path: Path
) -> None:  # VA-02 to VA-09, VA-12
    (tmp_path / "scripts.validate.py").write_text("import json, sys\nprint(json.load(sys.stdin)['json']['n'] > 1)")
    (tmp_path / "total.py").write_text("import json, sys\nprint(json.dumps(json.load(sys.stdin)['json']['n'] == 1))")
    rules: list[Any] = [
        {"type": "equals", "value": {"n": 1.0, "name": "Ada"}},
        {"type": "contains", "value": "Ada"},
        {"type": "not_contains", "value": "error"},
        {"type": "json_path", "path": "n", "value": 1},
        {"type": "regex", "value": "^{"},
        {"type": "type", "value": "object"},
        {"type": "script", "script": "total"},
        {"type": "script", "script": "scripts.validate"},
        {"type": "agent", "use": "validator"},
        *("field 'name' must be present", "Be kind."),
    ]
    asked = CheckRules.model_validate(
        {"rules": rules, "output": {"inline": '{"n": 1, "name": "Ada"}'}, "conversation": TALK}
    )
    async with executor as asker, validator(nats.url, scripts_dir=str(tmp_path)):
        found = await asker.service.ask(CHECK_RULES, asked)
    assert found.open_rules == ['{"type":"agent","use":"validator"}', "Be kind."]
    assert found.verdict.details.startswith("**Rules: 8 of 9 hold.**")
    (issue,) = found.verdict.issues
    assert "expected the script to print true, false or" in issue  # it printed False, which isn't JSON
    assert f"1. {issue}" in found.verdict.reply_content


async def test_an_agents_assertion_goes_both_ways(
    nats: EmbeddedServer, executor: AbstractAsyncContextManager[Executor]
) -> None:  # VA-09, DEC-13
    def say(call: CallAgent) -> AgentReply:
        content = '{"passed": false, "issues": ["rude"]}' if call.assistant_id == "experts.tone" else '{"passed": true}'
        return AgentReply(agent_id=call.assistant_id, content=content)

    rules = [
        Assertion(type="agent", use="agents:validator", value="Is it true?"),
        Assertion(type="agent", use="experts.tone", value="Is it rude?", negate=True),
        Assertion(type="agent", use="experts.tone", value="Is it kind?"),
    ]
    async with executor as asker, validator(nats.url, middlewares=[twice]):
        asker.says = say
        found = await asker.service.ask(CHECK_RULES, CheckRules(rules=rules, output=Text(inline="Rain")))
        asked = {"rules": [*found.open_rules, "Be short."], "rules_verdict": found.verdict, "conversation": TALK}
        await asker.request(agent="own.checker", **asked)
        (fact,) = await completed(nats.url)
    agents = {call.assistant_id for call in asker.calls}
    assert (agents, len({call.call_id for call in asker.calls})) == ({"own.checker", "experts.tone"}, 4)
    assert fact.verdict.issues == ["expected the output to satisfy the agent experts.tone: Is it kind?, but rude"]
    assert (fact.verdict.passed, fact.verdict.need_reply) == (False, True)
    assert "What is wrong:\n1. expected the output to satisfy" in fact.verdict.reply_content


async def test_a_plan_with_a_type_nobody_knows_is_answered(
    nats: EmbeddedServer, executor: AbstractAsyncContextManager[Executor]
) -> None:  # VA-10
    rules = [Assertion(type="vibes", negate=True)]
    async with executor as asker, validator(nats.url):
        found = await asker.service.ask(CHECK_RULES, CheckRules(rules=rules, output=Text(inline="Rain")))
    assert "assertion type 'vibes' isn't known here: known are agent, contains" in found.verdict.issues[0]


async def test_half_a_character_in_an_agents_answer_stops_nothing(
    nats: EmbeddedServer, executor: AbstractAsyncContextManager[Executor]
) -> None:
    async with executor as asker, validator(nats.url):
        asker.says = lambda call: AgentReply(agent_id="a", content=r'{"passed": false, "issues": ["\ud83d no"]}')
        await asker.request()
        (fact,) = await completed(nats.url)
    assert fact.verdict.issues == ["\ufffd no"]


async def test_only_the_executor_may_ask(nats: EmbeddedServer) -> None:
    async with validator(nats.url) as service:
        with pytest.raises(ValueError, match="may not ask"):
            await Ask(service.bus, by="learner")(CHECK_RULES, CheckRules(rules=[], output=Text(inline="")))
