"""The semantic layer: what the validation agent is asked, and what its answer is worth."""

import json
from typing import Any

import pytest

from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import ValidationCompletedV1, ValidationRequestedV1
from validator.adapters.in_memory import InMemoryOutputs, ScriptedAgents
from validator.agent_checks import OUTPUT_LIMIT
from validator.judge_output import JudgeOutput
from validator.registry import Kinds


def request(**fields: Any) -> ValidationRequestedV1:
    given = {
        "team_id": "acme",
        "member_id": "writer",
        "validation_id": "v1",
        "execution_id": "e1",
        "task_id": "t1",
        "description": "Write a haiku about rain",
        "expected_output": "three lines",
        "rules": ["Name no colours."],
        "output": Text(inline="Rain on the tin roof"),
    }
    return ValidationRequestedV1.model_validate(given | fields)


async def judge(answer: Any, **fields: Any) -> ValidationCompletedV1:
    content = answer if isinstance(answer, str) else json.dumps(answer)
    return await JudgeOutput(InMemoryOutputs(), ScriptedAgents(content), Kinds(), timeout=60)(request(**fields))


async def test_the_agent_is_asked_once_per_validation() -> None:  # VA-01
    agents = ScriptedAgents('{"passed": true, "score": 0.9}')
    fact = await JudgeOutput(InMemoryOutputs(), agents, Kinds(), timeout=60)(request())
    (call,) = agents.calls
    assert (call.call_id, call.assistant_id, call.execution_id, call.timeout) == ("v1", "rota.validation", "e1", 60)
    for part in ("Write a haiku about rain", "three lines", "- Name no colours.", "Rain on the tin roof", '"score"'):
        assert part in call.messages[0].text()
    assert (fact.validation_id, fact.execution_id, fact.task_id, fact.error) == ("v1", "e1", "t1", None)


async def test_a_long_output_is_shown_in_part_and_said_to_be() -> None:
    agents = ScriptedAgents('{"passed": true}')
    await JudgeOutput(InMemoryOutputs(), agents, Kinds(), timeout=60)(request(output=Text(inline="x" * 100_000)))
    text = agents.calls[0].messages[0].text()
    assert text.count("x" * 100) == OUTPUT_LIMIT // 100
    assert "its first 60000 of 100000 characters" in text


@pytest.mark.parametrize(
    ("answer", "threshold", "passed", "score"),
    [
        # VA-11
        ({"passed": True, "score": 0.6}, 0.6, True, 0.6),
        ({"passed": True, "score": 0.59}, 0.6, False, 0.59),
        ({"passed": False, "score": 0.95}, 0.6, False, 0.95),
        ({"passed": True}, 0.6, True, 1.0),
        ({"passed": False}, 0.6, False, 0.0),
        ({"passed": True, "score": "high"}, 0.6, True, 1.0),
        ({"passed": True, "score": 85}, 0.6, True, 1.0),
        ({"passed": False, "score": True}, 0.6, False, 0.0),
        ({"passed": True, "score": 0.7}, 0.9, False, 0.7),
        ('My verdict:\n```json\n{"passed": true, "score": 1}\n```', 0.6, True, 1.0),
    ],
)
async def test_it_passes_with_the_agents_word_and_the_score(
    answer: Any, threshold: float, passed: bool, score: float
) -> None:
    fact = await judge(answer, threshold=threshold)
    assert (fact.verdict.passed, fact.verdict.complete, fact.verdict.score) == (passed, passed, score)
    assert fact.error is None
    assert bool(fact.verdict.issues) is not passed


async def test_the_agents_notes_are_kept() -> None:
    answer = {
        "passed": False,
        "score": 0.2,
        "issues": ["only one line", 3, " "],
        "suggestions": "add two",
        "details": "## Bad",
    }
    verdict = (await judge(answer)).verdict
    assert (verdict.issues, verdict.suggestions, verdict.details) == (["only one line"], ["add two"], "## Bad")


async def test_endless_notes_are_cut() -> None:
    answer = {"passed": False, "issues": ["x" * 5000] * 500, "details": "y" * 100_000}
    assert len((await judge(answer)).model_dump_json()) < 50_000


@pytest.mark.parametrize("answer", ["", "It is fine.", "[]", '{"score": 1}', '{"passed": "yes"}'])
async def test_an_unreadable_answer_is_no_verdict(answer: str) -> None:
    fact = await judge(answer)
    assert (fact.verdict.passed, fact.verdict.score) == (False, 0.0)
    assert fact.error is not None
    assert "expected a JSON object" in fact.error
    assert fact.verdict.issues == [fact.error]


async def test_an_agents_failure_is_no_verdict() -> None:
    agents = ScriptedAgents('{"passed": true}', error="out of budget")
    fact = await JudgeOutput(InMemoryOutputs(), agents, Kinds(), timeout=60)(request())
    assert fact.error == "the validation agent rota.validation failed: out of budget"
    assert not fact.verdict.passed
