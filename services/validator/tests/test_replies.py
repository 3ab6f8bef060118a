"""Replies to the assistant: their text, and the conversations that get one."""

import json
from typing import Any

import pytest
from services.validator.tests import harness

from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import Conversation, ValidationCompletedV1, ValidationResult
from validator.adapters.in_memory import ScriptedAgents

TALK = Conversation(turn=2, max_turns=3)
LAST = Conversation(turn=3, max_turns=3)
SINGLE = Conversation()
RULES: list[Any] = [
    {"type": "contains", "value": "Total"},
    {"type": "json_path", "path": "a", "value": 1, "message": "Give a."},
]
FEEDBACK = """\
Your result was checked and doesn't pass (turn 2 of 3).

What is wrong:
1. expected the output to contain "Total", got "{\\"a\\": 2}"
2. Give a.

What to do:
- Make the output contain "Total".
- Make `a` of the output equal 1.

Answer with the whole result, corrected; what was right in it stays."""


async def check(output: str, talk: Conversation, rules: list[Any]) -> ValidationResult:
    return (await harness.check(output, *rules, conversation=talk)).verdict


async def judge(agents: ScriptedAgents, **fields: Any) -> ValidationCompletedV1:
    haiku = {"description": "a haiku", "expected_output": "three lines", "output": Text(inline="Rain")}
    return await harness.judge(agents, **haiku, **({"conversation": TALK} | fields))


def answering(**answer: Any) -> ScriptedAgents:
    return ScriptedAgents(json.dumps(answer))


async def test_the_reply_lists_the_rules_that_do_not_hold() -> None:  # VA-12, VA-13
    verdict = await check('{"a": 2}', TALK, RULES)
    assert (verdict.passed, verdict.complete, verdict.need_reply) == (False, False, True)
    assert verdict.reply_content == FEEDBACK


@pytest.mark.parametrize("talk", [LAST, SINGLE])
async def test_without_a_further_turn_there_is_no_reply(talk: Conversation) -> None:  # VA-14
    verdict = await check('{"a": 2}', talk, RULES)
    assert (verdict.passed, verdict.need_reply, verdict.reply_content) == (False, False, "")
    verdict = (await judge(answering(passed=False, reply_content="Why?"), conversation=talk)).verdict
    assert (verdict.passed, verdict.need_reply, verdict.reply_content) == (False, False, "")


async def test_a_passed_result_has_no_reply() -> None:
    verdict = await check('{"a": 1} Total', TALK, RULES)
    assert (verdict.passed, verdict.complete, verdict.need_reply, verdict.reply_content) == (True, True, False, "")
    verdict = (await judge(answering(passed=True, score=1, need_reply=True, reply_content="Well done."))).verdict
    assert (verdict.passed, verdict.complete, verdict.need_reply, verdict.reply_content) == (True, True, False, "")


async def test_a_rule_that_no_result_could_keep_gets_no_reply() -> None:
    verdict = await check("x", TALK, [*RULES, {"type": "vibes"}])
    assert (verdict.passed, verdict.need_reply) == (False, False)


async def test_the_reply_names_the_part_that_a_rule_needs() -> None:
    verdict = await check("no JSON", TALK, [{"type": "type", "path": "a", "value": "string"}])
    assert "1. expected `a` of the output to be of type string, but the output holds no JSON" in verdict.reply_content


async def test_a_long_list_of_issues_is_cut() -> None:
    verdict = await check("", TALK, [{"type": "contains", "value": str(number)} for number in range(30)])
    assert verdict.reply_content.count("… and 10 more") == 2
    assert len(verdict.issues) == 30


async def test_the_agents_issues_become_the_feedback() -> None:  # VA-13
    verdict = (await judge(answering(passed=False, score=0.2, issues=["one line"], suggestions=["add two"]))).verdict
    assert verdict.need_reply
    assert "What is wrong:\n1. one line\n\nWhat to do:\n- add two\n" in verdict.reply_content


@pytest.mark.parametrize(("need", "used"), [(True, True), (None, True), (False, False), ("yes", True)])
async def test_an_agents_own_question_is_the_reply(need: Any, used: bool) -> None:  # VA-13
    answer = {"passed": False, "score": 0, "issues": ["vague"], "need_reply": need, "reply_content": " Which rain? "}
    verdict = (await judge(answering(**{key: value for key, value in answer.items() if value is not None}))).verdict
    assert verdict.need_reply
    assert (verdict.reply_content == "Which rain?") is used
    assert ("1. vague" in verdict.reply_content) is not used


async def test_the_agent_may_write_a_reply_only_when_there_is_a_further_turn() -> None:
    for talk, offered in ((TALK, True), (LAST, False)):
        agents = answering(passed=True)
        await judge(agents, conversation=talk)
        assert ("need_reply" in agents.calls[0].messages[0].text()) is offered


HELD = ValidationResult(passed=True, score=1, details="**Rules: 2 of 2 hold.**", complete=True)
BROKEN = ValidationResult(
    passed=False, score=0.5, issues=["no Total"], suggestions=["add it"], details="**Rules: 1 of 2 hold.**"
)


async def test_both_layers_make_one_verdict() -> None:  # VA-01, VA-11
    verdict = (await judge(answering(passed=True, score=0.9, details="## Good"), rules_verdict=HELD)).verdict
    assert (verdict.passed, verdict.score, verdict.details) == (True, 0.9, "**Rules: 2 of 2 hold.**\n\n## Good")


async def test_a_failed_rule_decides_against_the_agents_verdict() -> None:
    verdict = (await judge(answering(passed=True, score=0.9, suggestions=["rhyme"]), rules_verdict=BROKEN)).verdict
    assert (verdict.passed, verdict.complete, verdict.score) == (False, False, 0.5)
    assert (verdict.issues, verdict.suggestions) == (["no Total"], ["add it", "rhyme"])
    assert "1. no Total" in verdict.reply_content


async def test_an_agents_question_stands_beside_the_feedback_on_rules() -> None:
    agents = answering(passed=False, score=0, issues=["vague"], reply_content="Which rain?")
    verdict = (await judge(agents, rules_verdict=BROKEN)).verdict
    assert "1. no Total\n2. vague\n" in verdict.reply_content
    assert "- add it\n- Which rain?\n" in verdict.reply_content


async def test_the_threshold_decides_over_both() -> None:  # VA-11
    verdict = (await judge(answering(passed=True, score=0.7), rules_verdict=HELD, threshold=0.8)).verdict
    assert (verdict.passed, verdict.score, verdict.issues) == (False, 0.7, ["the score is 0.7; at least 0.8 passes"])
    weak = HELD.model_copy(update={"score": 0.3})
    verdict = (await judge(answering(passed=True, score=0.7), rules_verdict=weak)).verdict
    assert (verdict.passed, verdict.score, verdict.issues) == (False, 0.3, ["the score is 0.3; at least 0.6 passes"])


async def test_without_a_verdict_there_is_no_reply() -> None:
    fact = await judge(answering(score=1), rules_verdict=HELD)
    assert fact.error is not None
    assert (fact.verdict.need_reply, fact.verdict.details) == (False, "**Rules: 2 of 2 hold.**")
