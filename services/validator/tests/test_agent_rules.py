"""`agent` assertions: which agent is asked what, and how its verdict counts (VA-09)."""

import json
from typing import Any

import pytest

from rota_common.errors import Transient
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import Assertion, Conversation, ValidationCompletedV1, ValidationRequestedV1
from validator.adapters.in_memory import InMemoryOutputs, ScriptedAgents
from validator.judge_output import JudgeOutput
from validator.registry import Kinds

GOOD, BAD = (
    '{"passed": true, "score": 0.9}',
    '{"passed": false, "score": 0.2, "issues": ["rude"], "suggestions": ["smile"]}',
)


def rule(**fields: Any) -> str:
    return Assertion.model_validate({"type": "agent", "use": "experts.tone", **fields}).model_dump_json()


async def judge(agents: Any, *rules: str, **fields: Any) -> ValidationCompletedV1:
    given: dict[str, Any] = {"team_id": "acme", "member_id": "writer", "validation_id": "v1", "execution_id": "e1"}
    given |= {"task_id": "t1", "description": "a letter", "output": Text(inline='{"text": "Dear you", "n": 1}')}
    request = ValidationRequestedV1.model_validate({**given, "rules": rules, **fields})
    return await JudgeOutput(InMemoryOutputs(), agents, Kinds(), timeout=60)(request)


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
async def test_the_agent_that_is_named_is_asked(use: str, asked: str) -> None:
    agents = ScriptedAgents(GOOD)
    fact = await judge(agents, rule(use=use, value="Is it kind?"), agent="own.checker")
    (call,) = agents.calls
    assert (call.assistant_id, call.team_id, call.member_id, call.execution_id) == (asked, "acme", "writer", "e1")
    for part in ("a letter", "- Is it kind?", "Dear you"):
        assert part in call.messages[0].text()
    assert (fact.verdict.passed, fact.verdict.score) == (True, 0.9)


async def test_each_assertion_has_a_call_of_its_own_and_the_same_each_time() -> None:
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


async def test_a_part_is_shown_alone() -> None:
    agents = ScriptedAgents(GOOD)
    await judge(agents, rule(path="text", value="kind?"))
    assert "<output>\nDear you\n</output>" in agents.calls[0].messages[0].text()


async def test_a_part_that_is_not_there_to_look_at_fails_unasked() -> None:
    agents = ScriptedAgents(GOOD)
    fact = await judge(agents, rule(path="text"), output=Text(inline="no JSON"))
    assert agents.calls == []
    assert fact.verdict.issues == [
        "expected `text` of the output to satisfy the agent experts.tone, but the output holds no JSON"
    ]


async def test_without_a_value_the_expected_output_is_what_it_checks() -> None:
    agents = ScriptedAgents(GOOD)
    await judge(agents, rule(), expected_output="a kind letter")
    assert [("a kind letter" in call.messages[0].text()) for call in agents.calls] == [True, True]


async def test_a_failed_assertion_fails_the_whole_and_says_why() -> None:
    talk = Conversation(turn=1, max_turns=2)
    agents = ScriptedAgents(GOOD, by_agent={"experts.tone": BAD})
    verdict = (await judge(agents, rule(value="kind?"), "Be short.", conversation=talk)).verdict
    assert (verdict.passed, verdict.score, verdict.suggestions) == (False, 0.2, ["smile"])
    assert verdict.issues == ["expected the output to satisfy the agent experts.tone: kind?, but rude"]
    assert "1. expected the output to satisfy" in verdict.reply_content


async def test_its_own_message_is_said_instead() -> None:
    assert (await judge(ScriptedAgents(BAD), rule(message="Be kind."))).verdict.issues == ["Be kind."]


@pytest.mark.parametrize(
    ("answer", "passed", "score"),
    [(BAD, True, 1.0), (GOOD, False, 0.0), ('{"passed": true, "score": 0.5}', True, 1.0)],
)
async def test_negated_it_holds_when_the_agent_says_no(answer: str, passed: bool, score: float) -> None:
    verdict = (await judge(ScriptedAgents(answer), rule(value="rude?", negate=True))).verdict
    assert (verdict.passed, verdict.score) == (passed, score)
    assert bool(verdict.issues) is not passed


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(
    "agents", [ScriptedAgents("Fine."), ScriptedAgents(GOOD, error="there is no agent experts.tone")]
)
async def test_an_agent_without_a_verdict_leaves_the_task_without_one(agents: ScriptedAgents, negate: bool) -> None:
    fact = await judge(agents, rule(negate=negate), conversation=Conversation(max_turns=5))
    assert fact.error is not None
    assert "experts.tone" in fact.error
    assert (fact.verdict.passed, fact.verdict.need_reply) == (False, False)


async def test_json_that_is_no_agents_assertion_is_a_sentence_for_the_model() -> None:
    agents = ScriptedAgents(GOOD)
    await judge(agents, '{"type": "agent"}', '{"type": "unknown"}')
    assert [call.call_id for call in agents.calls] == ["v1"]
    assert '- {"type": "unknown"}' in agents.calls[0].messages[0].text()


async def test_all_agents_are_heard_before_one_that_is_away_is_reported() -> None:
    heard: list[str] = []

    class Partly:
        async def answer(self, call: CallAgent) -> AgentReply:
            if call.assistant_id == "experts.away":
                raise Transient("nobody there")
            heard.append(call.assistant_id)
            return AgentReply(agent_id=call.assistant_id, content=json.dumps({"passed": True}))

    with pytest.raises(Transient, match="nobody there"):
        await judge(Partly(), rule(use="experts.away"), rule(use="experts.here"))
    assert heard == ["experts.here"]
