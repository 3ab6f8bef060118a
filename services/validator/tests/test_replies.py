"""What the assistant is told when its result doesn't pass, and when it is told anything at all."""

import json
from typing import Any

import pytest

from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import (
    CheckRules,
    Conversation,
    ValidationCompletedV1,
    ValidationRequestedV1,
    ValidationResult,
)
from validator.adapters.in_memory import InMemoryOutputs, InMemoryPatterns, ScriptedAgents, ScriptedScripts
from validator.check_output import CheckOutput
from validator.judge_output import JudgeOutput
from validator.registry import Kinds

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


async def checked(output: str, talk: Conversation, rules: list[Any]) -> ValidationResult:
    check = CheckOutput(InMemoryOutputs(), InMemoryPatterns(), ScriptedScripts(), Kinds())
    asked = CheckRules.model_validate({"rules": rules, "output": Text(inline=output), "conversation": talk})
    return (await check(asked)).verdict


async def judge(agents: ScriptedAgents, **fields: Any) -> ValidationCompletedV1:
    given = {"team_id": "acme", "member_id": "writer", "validation_id": "v1", "execution_id": "e1", "task_id": "t1"}
    given |= {"description": "a haiku", "expected_output": "three lines", "output": Text(inline="Rain")}
    request = ValidationRequestedV1.model_validate({**given, "conversation": TALK, **fields})
    return await JudgeOutput(InMemoryOutputs(), agents, Kinds(), timeout=60)(request)


def saying(**answer: Any) -> ScriptedAgents:
    return ScriptedAgents(json.dumps(answer))


async def test_rules_that_do_not_hold_are_told_to_the_assistant() -> None:  # VA-12, VA-13
    verdict = await checked('{"a": 2}', TALK, RULES)
    assert (verdict.passed, verdict.complete, verdict.need_reply) == (False, False, True)
    assert verdict.reply_content == FEEDBACK


@pytest.mark.parametrize("talk", [LAST, SINGLE])
async def test_nobody_is_told_anything_when_there_is_no_further_turn(talk: Conversation) -> None:  # VA-14
    verdict = await checked('{"a": 2}', talk, RULES)
    assert (verdict.passed, verdict.need_reply, verdict.reply_content) == (False, False, "")
    verdict = (await judge(saying(passed=False, reply_content="Why?"), conversation=talk)).verdict
    assert (verdict.passed, verdict.need_reply, verdict.reply_content) == (False, False, "")


async def test_a_result_that_passes_needs_no_reply() -> None:
    verdict = await checked('{"a": 1} Total', TALK, RULES)
    assert (verdict.passed, verdict.complete, verdict.need_reply, verdict.reply_content) == (True, True, False, "")
    verdict = (await judge(saying(passed=True, need_reply=True, reply_content="Well done."))).verdict
    assert (verdict.passed, verdict.complete, verdict.need_reply, verdict.reply_content) == (True, True, False, "")


async def test_no_further_turn_is_spent_on_a_rule_that_no_result_could_keep() -> None:
    verdict = await checked("x", TALK, [*RULES, {"type": "vibes"}])
    assert (verdict.passed, verdict.need_reply) == (False, False)


async def test_what_a_result_lacks_for_a_rule_to_be_tried_is_told() -> None:
    verdict = await checked("no JSON", TALK, [{"type": "type", "path": "a", "value": "string"}])
    assert "1. expected `a` of the output to be of type string, but the output holds no JSON" in verdict.reply_content


async def test_a_long_list_is_cut() -> None:
    verdict = await checked("", TALK, [{"type": "contains", "value": str(number)} for number in range(30)])
    assert verdict.reply_content.count("… and 10 more") == 2
    assert len(verdict.issues) == 30


async def test_the_agents_issues_become_feedback() -> None:  # VA-13
    verdict = (await judge(saying(passed=False, score=0.2, issues=["one line"], suggestions=["add two"]))).verdict
    assert verdict.need_reply
    assert "What is wrong:\n1. one line\n\nWhat to do:\n- add two\n" in verdict.reply_content


@pytest.mark.parametrize(("need", "used"), [(True, True), (None, True), (False, False), ("yes", True)])
async def test_an_agents_own_question_is_put_as_it_is(need: Any, used: bool) -> None:  # VA-13
    answer = {"passed": False, "issues": ["vague"], "need_reply": need, "reply_content": " Which rain? "}
    verdict = (await judge(saying(**{key: value for key, value in answer.items() if value is not None}))).verdict
    assert verdict.need_reply
    assert (verdict.reply_content == "Which rain?") is used
    assert ("1. vague" in verdict.reply_content) is not used


async def test_the_agent_is_offered_a_reply_only_where_there_is_one() -> None:
    for talk, offered in ((TALK, True), (LAST, False)):
        agents = saying(passed=True)
        await judge(agents, conversation=talk)
        assert ("need_reply" in agents.calls[0].messages[0].text()) is offered


HELD = ValidationResult(passed=True, score=1, details="**Rules: 2 of 2 hold.**", complete=True)
BROKEN = ValidationResult(
    passed=False, score=0.5, issues=["no Total"], suggestions=["add it"], details="**Rules: 1 of 2 hold.**"
)


async def test_both_layers_make_one_verdict() -> None:  # VA-01, VA-11
    verdict = (await judge(saying(passed=True, score=0.9, details="## Good"), rules_verdict=HELD)).verdict
    assert (verdict.passed, verdict.score, verdict.details) == (True, 0.9, "**Rules: 2 of 2 hold.**\n\n## Good")


async def test_rules_that_do_not_hold_decide_whatever_the_agent_says() -> None:
    verdict = (await judge(saying(passed=True, score=0.9, suggestions=["rhyme"]), rules_verdict=BROKEN)).verdict
    assert (verdict.passed, verdict.complete, verdict.score) == (False, False, 0.5)
    assert (verdict.issues, verdict.suggestions) == (["no Total"], ["add it", "rhyme"])
    assert "1. no Total" in verdict.reply_content


async def test_an_agents_question_stands_beside_the_feedback_on_rules() -> None:
    agents = saying(passed=False, issues=["vague"], reply_content="Which rain?")
    verdict = (await judge(agents, rules_verdict=BROKEN)).verdict
    assert "1. no Total\n2. vague\n" in verdict.reply_content
    assert "- add it\n- Which rain?\n" in verdict.reply_content


async def test_the_threshold_decides_over_both() -> None:  # VA-11
    verdict = (await judge(saying(passed=True, score=0.7), rules_verdict=HELD, threshold=0.8)).verdict
    assert (verdict.passed, verdict.score, verdict.issues) == (False, 0.7, ["the score is 0.7; at least 0.8 passes"])
    weak = HELD.model_copy(update={"score": 0.3})
    verdict = (await judge(saying(passed=True, score=0.7), rules_verdict=weak)).verdict
    assert (verdict.passed, verdict.score, verdict.issues) == (False, 0.3, ["the score is 0.3; at least 0.6 passes"])


async def test_without_a_verdict_nobody_is_told_to_try_again() -> None:
    fact = await judge(saying(score=1), rules_verdict=HELD)
    assert fact.error is not None
    assert (fact.verdict.need_reply, fact.verdict.details) == (False, "**Rules: 2 of 2 hold.**")
