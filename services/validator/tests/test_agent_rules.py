"""`agent` assertions: the calls of agents, and the weight of their verdicts (VA-09)."""

import json
from typing import Any

import pytest
from services.validator.tests import harness

from rota_common.errors import Transient
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import Assertion, Conversation, ValidationCompletedV1
from validator.adapters.in_memory import ScriptedAgents

GOOD, BAD = (
    '{"passed": true, "score": 0.9}',
    '{"passed": false, "score": 0.2, "issues": ["rude"], "suggestions": ["smile"]}',
)


def rule(**fields: Any) -> str:
    return Assertion.model_validate({"type": "agent", "use": "experts.tone", **fields}).model_dump_json()


async def judge(agents: Any, *rules: str, **fields: Any) -> ValidationCompletedV1:
    given = {"description": "a letter", "output": Text(inline='{"text": "Dear you", "n": 1}'), "rules": rules}
    return await harness.judge(agents, **(given | fields))


@pytest.mark.parametrize(
    ("use", "asked"),
    [
        # DEC-13
        ("validator", "own.checker"),
        ("agents:validator", "own.checker"),
        ("experts.tone", "experts.tone"),
        ("agents:experts.tone", "experts.tone"),
    ],
)
async def test_the_named_agent_is_called(use: str, asked: str) -> None:
    agents = ScriptedAgents(GOOD)
    fact = await judge(agents, rule(use=use, value="Is it kind?"), agent="own.checker")
    (call,) = agents.calls
    assert (call.assistant_id, call.team_id, call.member_id, call.execution_id) == (asked, "acme", "writer", "e1")
    for part in ("a letter", "- Is it kind?", "Dear you"):
        assert part in call.messages[0].text()
    assert (fact.verdict.passed, fact.verdict.score) == (True, 0.9)


async def test_each_assertion_has_a_call_of_its_own_with_the_same_id_each_time() -> None:
    agents = ScriptedAgents(GOOD)
    for _ in range(2):
        await judge(agents, rule(value="kind?"), "Be short.", rule(value="true?"), expected_output="a letter")
    ids = [call.call_id for call in agents.calls]
    assert ids[:3] == ids[3:]
    assert len(set(ids)) == 3
    assert ids[2] == "v1"
    whole = agents.calls[2].messages[0].text()
    assert "- Be short." in whole
    assert "kind?" not in whole


async def test_an_assertion_on_a_part_shows_the_part_alone() -> None:
    agents = ScriptedAgents(GOOD)
    await judge(agents, rule(path="text", value="kind?"))
    assert 'name="output">\nDear you\n</material-' in agents.calls[0].messages[0].text()


async def test_a_missing_part_fails_without_a_call() -> None:
    agents = ScriptedAgents(GOOD)
    fact = await judge(agents, rule(path="text"), output=Text(inline="no JSON"))
    assert agents.calls == []
    assert fact.verdict.issues == [
        "expected `text` of the output to satisfy the agent experts.tone, but the output holds no JSON"
    ]


async def test_an_assertion_without_a_value_checks_the_expected_output() -> None:
    agents = ScriptedAgents(GOOD)
    await judge(agents, rule(), expected_output="a kind letter")
    assert [("a kind letter" in call.messages[0].text()) for call in agents.calls] == [True, True]


async def test_a_failed_assertion_fails_the_verdict_with_its_issue() -> None:
    talk = Conversation(turn=1, max_turns=2)
    agents = ScriptedAgents(GOOD, by_agent={"experts.tone": BAD})
    verdict = (await judge(agents, rule(value="kind?"), "Be short.", conversation=talk)).verdict
    assert (verdict.passed, verdict.score, verdict.suggestions) == (False, 0.2, ["smile"])
    assert verdict.issues == ["expected the output to satisfy the agent experts.tone: kind?, but rude"]
    assert "1. expected the output to satisfy" in verdict.reply_content


async def test_an_assertions_own_message_replaces_the_issue() -> None:
    assert (await judge(ScriptedAgents(BAD), rule(message="Be kind."))).verdict.issues == ["Be kind."]


@pytest.mark.parametrize(
    ("answer", "passed", "score"),
    [(BAD, True, 1.0), (GOOD, False, 0.0), ('{"passed": true, "score": 0.5}', True, 1.0)],
)
async def test_a_negated_assertion_holds_when_the_agent_fails_it(answer: str, passed: bool, score: float) -> None:
    verdict = (await judge(ScriptedAgents(answer), rule(value="rude?", negate=True))).verdict
    assert (verdict.passed, verdict.score) == (passed, score)
    assert bool(verdict.issues) is not passed


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(
    "agents", [ScriptedAgents("Fine."), ScriptedAgents(GOOD, error="there is no agent experts.tone")]
)
async def test_without_an_agents_verdict_the_task_has_none(agents: ScriptedAgents, negate: bool) -> None:
    fact = await judge(agents, rule(negate=negate), conversation=Conversation(max_turns=5))
    assert fact.error is not None
    assert "experts.tone" in fact.error
    assert (fact.verdict.passed, fact.verdict.need_reply) == (False, False)


async def test_other_json_is_a_sentence_for_the_model() -> None:
    agents = ScriptedAgents(GOOD)
    await judge(agents, '{"type": "agent"}', '{"type": "unknown"}')
    assert [call.call_id for call in agents.calls] == ["v1"]
    assert '- {"type": "unknown"}' in agents.calls[0].messages[0].text()


async def test_a_failed_call_is_raised_after_all_calls_have_ended() -> None:
    answered: list[str] = []

    class Partly:
        async def answer(self, call: CallAgent) -> AgentReply:
            if call.assistant_id == "experts.away":
                raise Transient("not there")
            answered.append(call.assistant_id)
            return AgentReply(
                agent_id=call.assistant_id,
                content=json.dumps({"check": call.metadata["check"], "passed": True, "score": 1}),
            )

    with pytest.raises(Transient, match="not there"):
        await judge(Partly(), rule(use="experts.away"), rule(use="experts.here"))
    assert answered == ["experts.here"]
