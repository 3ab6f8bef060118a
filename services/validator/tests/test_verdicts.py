"""The second layer: the call of the validation agent, and the verdict in its answer."""

import json
from typing import Any

from services.validator.tests import harness

from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import ValidationCompletedV1
from validator.adapters.in_memory import ScriptedAgents
from validator.prompts import OUTPUT_LIMIT


async def judge(answer: Any, **fields: Any) -> ValidationCompletedV1:
    """`answer`: the port, or the agent's answer as a text or an object."""
    agents = json.dumps(answer) if isinstance(answer, dict) else answer
    return await harness.judge(agents, **({"expected_output": "three lines", "rules": ["Name no colours."]} | fields))


async def test_a_validation_calls_the_agent_once() -> None:  # VA-01
    agents = ScriptedAgents('{"passed": true, "score": 0.9}')
    fact = await judge(agents)
    (call,) = agents.calls
    assert (call.call_id, call.assistant_id, call.execution_id, call.timeout) == ("v1", "rota.validation", "e1", 60)
    for part in (
        "Write a haiku about rain",
        "three lines",
        "- Name no colours.",
        "Rain on the tin roof",
        "- score: number",
    ):
        assert part in call.messages[0].text()
    assert (fact.validation_id, fact.execution_id, fact.task_id, fact.error) == ("v1", "e1", "t1", None)


async def test_the_agent_sees_the_beginning_of_a_long_output() -> None:
    agents = ScriptedAgents('{"passed": true}')
    await judge(agents, output=Text(inline="x" * 100_000))
    text = agents.calls[0].messages[0].text()
    assert text.count("x" * 100) == OUTPUT_LIMIT // 100
    assert "its first 60000 of 100000 characters" in text


SCORES = [
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
]


async def test_an_output_passes_by_the_agents_verdict_and_the_threshold() -> None:  # VA-11
    wrong = []
    for answer, threshold, passed, score in SCORES:
        fact = await judge(answer, threshold=threshold)
        found = (fact.verdict.passed, fact.verdict.complete, fact.verdict.score, bool(fact.verdict.issues), fact.error)
        if found != (passed, passed, score, not passed, None):
            wrong.append((answer, found))
    assert wrong == []


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


async def test_long_notes_are_cut() -> None:
    answer = {"passed": False, "issues": ["x" * 5000] * 500, "details": "y" * 100_000}
    assert len((await judge(answer)).model_dump_json()) < 50_000


async def test_an_unreadable_answer_is_no_verdict() -> None:
    for answer in ("", "It is fine.", "[]", '{"score": 1}', '{"passed": "yes"}'):
        fact = await judge(answer)
        assert (fact.verdict.passed, fact.verdict.score) == (False, 0.0), answer
        assert fact.error is not None
        assert "expected a JSON object" in fact.error
        assert fact.verdict.issues == [fact.error]


async def test_an_agents_failure_is_no_verdict() -> None:
    agents = ScriptedAgents('{"passed": true}', error="out of budget")
    fact = await judge(agents)
    assert fact.error == "the validation agent rota.validation failed: out of budget"
    assert not fact.verdict.passed
