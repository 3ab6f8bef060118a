"""The validator's messages, on a bus in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent
from rota_common.runtime.service import Runtime
from rota_common.testing.chaos import twice
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_contracts.catalog import CHECK_RULES, VALIDATION_COMPLETED, VALIDATION_REQUESTED
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import (
    Assertion,
    CheckRules,
    Conversation,
    ValidationCompletedV1,
    ValidationRequestedV1,
)
from validator.adapters.in_memory import ScriptedAgents, in_memory
from validator.app import build
from validator.fair_slots import PER_TEAM
from validator.settings import Settings

GOOD, RUDE = '{"passed": true, "score": 0.8}', '{"passed": false, "score": 0, "issues": ["rude"]}'
RAIN = Text(inline="Rain")


@asynccontextmanager
async def validator(agents: Any = None, **others: Any) -> AsyncIterator[InMemoryBus]:
    """The bus of a running validator that handles every message twice."""
    bus = InMemoryBus()
    runtime = Runtime(bus=bus, middlewares=[twice])
    adapters = replace(in_memory(agents=agents or ScriptedAgents(GOOD)), **others)
    service = build(Settings(), runtime=runtime, adapters=adapters).service
    await service.start()
    await service.started.wait()
    yield bus
    await service.stop(1)


async def request(bus: InMemoryBus, **fields: Any) -> None:
    given = {"validation_id": "v1", "execution_id": "e1", "task_id": "t1", "description": "a haiku"}
    given |= {"team_id": "acme", "member_id": "writer", "output": RAIN}
    fact = ValidationRequestedV1.model_validate(given | fields)
    await bus.publish(VALIDATION_REQUESTED, fact, caused_by=fact.validation_id)


async def verdicts(bus: InMemoryBus) -> list[ValidationCompletedV1]:
    await bus.settled()
    return [event.data for event in bus.facts(VALIDATION_COMPLETED)]


async def test_rules_are_checked_by_request_and_reply() -> None:  # VA-01
    rules = [Assertion(type="regex", value="^R"), '{"type": "contains", "value": "sun"}', "Be kind."]
    async with validator() as bus:
        found = await bus.ask(CHECK_RULES, CheckRules(rules=rules, output=RAIN))
    assert (found.verdict.passed, found.verdict.score, found.open_rules) == (False, 0.5, ["Be kind."])


async def test_a_rule_of_an_unknown_type_still_gets_a_reply() -> None:  # VA-10
    rules = [Assertion(type="vibes", negate=True)]
    async with validator() as bus:
        found = await bus.ask(CHECK_RULES, CheckRules(rules=rules, output=RAIN))
    assert "assertion type 'vibes' isn't known here: known are agent, contains" in found.verdict.issues[0]


async def test_a_malformed_question_is_refused() -> None:
    async with validator() as bus:
        client = bus.connection("executor").client
        reply = await client.request(CHECK_RULES.subject, b'{"rules": [{"value": 1}], "output": {"inline": ""}}')
    assert reply.headers["rota-error"] == "permanent"


async def test_only_the_executor_may_ask() -> None:
    async with validator() as bus:
        with pytest.raises(ValueError, match="may not ask"):
            await Ask(bus.connection("learner"), by="learner")(CHECK_RULES, CheckRules(rules=[], output=RAIN))


async def test_a_request_has_one_verdict_however_often_it_is_delivered() -> None:
    agents = ScriptedAgents(GOOD)
    async with validator(agents) as bus:
        await request(bus)
        (fact,) = await verdicts(bus)
        await request(bus, validation_id="v2")
        found = await verdicts(bus)
    assert (fact.verdict.passed, fact.verdict.score, fact.error) == (True, 0.8, None)
    assert [each.validation_id for each in found] == ["v1", "v2"]
    assert {call.call_id for call in agents.calls} == {"v1", "v2"}


async def test_the_verdict_continues_the_trace_of_its_request() -> None:
    async with validator() as bus:
        await request(bus)
        await bus.settled()
        (asked,), (answered,) = bus.facts(VALIDATION_REQUESTED), bus.facts(VALIDATION_COMPLETED)
    assert answered.cause == "v1"
    assert answered.traceparent.split("-")[1] == asked.traceparent.split("-")[1]


async def test_a_refused_call_still_ends_in_a_verdict() -> None:
    class Refusing:
        async def answer(self, call: CallAgent) -> AgentReply:
            raise Permanent(f"there is no agent {call.assistant_id}")

    async with validator(Refusing()) as bus:
        await request(bus, agent="experts.unknown")
        (fact,) = await verdicts(bus)
    assert (fact.error, fact.verdict.passed) == ("there is no agent experts.unknown", False)
    assert len(bus.dead) == 1


async def test_agent_assertions_pass_from_the_first_layer_to_the_second() -> None:  # VA-09, DEC-13
    agents = ScriptedAgents('{"passed": true, "score": 1}', by_agent={"experts.tone": RUDE})
    rules = [
        Assertion(type="agent", use="agents:validator", value="Is it true?"),
        Assertion(type="agent", use="experts.tone", value="Is it rude?", negate=True),
        Assertion(type="agent", use="experts.tone", value="Is it kind?"),
    ]
    async with validator(agents) as bus:
        found = await bus.ask(CHECK_RULES, CheckRules(rules=rules, output=RAIN))
        second = {"rules": [*found.open_rules, "Be short."], "rules_verdict": found.verdict}
        await request(bus, agent="own.checker", conversation=Conversation(turn=1, max_turns=3), **second)
        (fact,) = await verdicts(bus)
    called = {call.assistant_id for call in agents.calls}
    assert (called, len({call.call_id for call in agents.calls})) == ({"own.checker", "experts.tone"}, 4)
    assert fact.verdict.issues == ["expected the output to satisfy the agent experts.tone: Is it kind?, but rude"]
    assert (fact.verdict.passed, fact.verdict.need_reply) == (False, True)
    assert "What is wrong:\n1. expected the output to satisfy" in fact.verdict.reply_content


async def test_half_a_character_in_an_agents_answer_is_replaced() -> None:
    async with validator(ScriptedAgents(r'{"passed": false, "score": 0, "issues": ["\ud83d no"]}')) as bus:
        await request(bus)
        (fact,) = await verdicts(bus)
    assert fact.verdict.issues == ["\ufffd no"]


class StuckPatterns:
    """`slow` is searched until `end`; anything else is found at once."""

    def __init__(self) -> None:
        self.end = asyncio.Event()
        self.most, self._now = 0, 0

    async def search(self, pattern: str, text: str) -> bool:
        if pattern == "slow":
            self._now += 1
            self.most = max(self.most, self._now)
            await self.end.wait()
            self._now -= 1
        return True


async def test_the_slow_patterns_of_one_team_hold_up_no_other_team() -> None:
    stuck = StuckPatterns()

    def rules(pattern: str, team: str) -> CheckRules:
        return CheckRules(rules=[Assertion(type="regex", value=pattern)], output=RAIN, team_id=team)

    async with validator(patterns=stuck) as bus:
        flood = [asyncio.create_task(bus.ask(CHECK_RULES, rules("slow", "alpha"))) for _ in range(20)]
        await bus.ask(CHECK_RULES, CheckRules(rules=["Be kind."], output=RAIN, team_id="alpha"))
        found = await bus.ask(CHECK_RULES, rules("^R", "beta"))
        assert found.verdict.passed
        assert stuck.most == PER_TEAM
        stuck.end.set()
        assert all(each.verdict.passed for each in await asyncio.gather(*flood))
