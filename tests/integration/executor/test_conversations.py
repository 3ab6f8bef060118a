"""Talks with assistants and people over a real bus: turns, questions, interventions (EX-23, TG-07, DEC-35)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rota_common.testing.bus import stored
from rota_common.testing.openai_server import OpenAIServer, openai_server
from rota_common.testing.samples import MEMBER, a_robot
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecStatus, Execution
from rota_contracts.messages.learning import CheckGoals, DedupDecision, GoalsReply
from rota_contracts.messages.validation import RulesReply, ValidationRequestedV1, ValidationResult
from tests.integration.executor.fixtures import ANSWERS, ASKS, Script
from tests.integration.executor.harness import GOOD, Harness, kind, kinds, scripted

SCORING, WRITING = "run: Score it", "run: Write it"
RULED = {
    "resources": {"agents": ["experts.scorer", "experts.writer"]},
    "executor": {"validation_rules": ["must contain '87'"]},
}
MORE = ValidationResult(passed=False, score=0.4, issues=["no reasons"], need_reply=True, reply_content="Give reasons.")


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(Script()) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, model: OpenAIServer) -> dict[str, Any]:
    return scripted(tmp_path / "connectors", model.url)


def waits(execution: Execution) -> bool:
    return execution.status is ExecStatus.WAITING


def outputs(execution: Execution) -> list[list[str | None]]:
    return [[turn.output.inline if turn.output else None for turn in result.turns] for result in execution.results]


@pytest.mark.parametrize("layer", ["rules", "meaning"])
async def test_a_verdict_that_wants_a_reply_makes_the_assistant_answer_it(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], layer: str
) -> None:  # EX-23 VA-12
    def verdict(asked: ValidationRequestedV1) -> ValidationResult:
        return MORE if asked.conversation.turn == 1 and asked.task_id == "a" else GOOD

    if layer == "meaning":
        system.verdict = verdict
    else:
        system.rules = lambda asked: RulesReply(
            verdict=MORE if asked.conversation.turn == 1 and asked.output.inline == "87 of 100" else GOOD
        )
    model.script = Script(**{"run: Score it": ["87 of 100", "87, for it grows."]})
    async with system.executor(**settings):
        await system.keep(a_robot(config=RULED, rev=2))
        await system.request()
        done = await system.over()
    assert done.status is ExecStatus.COMPLETED
    assert outputs(done)[0] == ["87 of 100", "87, for it grows."]
    second = [asked for asked in model.asked if kind(asked) == SCORING][1].body["messages"]
    assert [(each["role"], each["content"]) for each in second[-2:]] == [
        ("assistant", "87 of 100"),
        ("user", "Give reasons."),
    ]
    if layer == "meaning":
        asked = [event.data for event in await stored(system.nats_url, catalog.VALIDATION_REQUESTED)]
        first = [(each.conversation.turn, each.conversation.max_turns) for each in asked if each.task_id == "a"]
        assert first == [(1, 10), (2, 10)]


@pytest.mark.parametrize("what", ["goals", SCORING])
async def test_an_answer_after_a_restart_is_applied(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], what: str
) -> None:  # DEC-30
    asks = [ASKS] * (2 if what == SCORING else 1)  # no person asked for the run: its assistant must insist
    model.script = Script(**{what: asks})
    async with system.executor(**settings):
        await system.request()
        waiting = await system.until(waits)
    assert waiting.question is not None
    assert (waiting.question.question, waiting.deadline_at) == ("Which Globex?", None)
    (parked,) = await system.parked()
    assert (parked.data.status, parked.data.reason) == (ExecStatus.WAITING, "Which Globex?")
    async with system.executor(**settings):
        assert (await system.intervene("instruct", "The German one.")).execution_id == "e1"
        done = await system.over()
    assert (done.status, done.question) == (ExecStatus.COMPLETED, None)
    assert kinds(model) == dict.fromkeys(ANSWERS, 1) | {what: len(asks) + 1}
    shown = [asked.words for asked in model.asked if kind(asked) == what]
    assert ["The German one." in words for words in shown] == [*[False] * len(asks), True]


async def test_interventions_are_facts_and_reach_the_next_step(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # TG-07
    script = Script(SCORING)
    model.script = script
    async with system.executor(**settings):
        await system.request()
        await script.reached.wait()
        await system.intervene("instruct", "Mind the umlauts.", execution_id="e1")
        added = {"description": "Check it", "executor_id": "experts.scorer"}
        script.replies["run: Check it"] = ["checked"]
        for _ in range(2):  # said twice, done once
            await system.intervene("task.add", "Check it, please.", execution_id="e1", task=added)
        await system.intervene("task.cancel", execution_id="e1", task={"id": "b"})
        script.go.set()
        done = await system.over()
    assert [(result.task_id, str(result.status)) for result in done.results] == [
        ("a", "completed"),
        ("b", "skipped"),
        ("task-3", "completed"),
    ]
    facts = await stored(system.nats_url, catalog.EXECUTION_INTERVENED)
    assert [(fact.data.action, fact.data.text) for fact in facts] == [
        ("instruct", "Mind the umlauts."),
        ("task.add", "Check it, please."),
        ("task.cancel", ""),
    ]
    assert [trace.effect for trace in done.interventions] == [
        "applies from the next step",
        "task task-3 was added",
        "task b was cancelled",
    ]
    shown = {kind(asked): asked.words for asked in model.asked}
    assert "Mind the umlauts." in shown["run: Check it"]
    assert WRITING not in shown


async def test_an_intervention_without_a_name_is_for_the_robots_only_run(system: Harness) -> None:  # DEC-35
    system.silent = {"validator"}
    async with system.executor():
        none = await system.intervene("instruct", "Hurry.")
        assert (none.execution_id, none.candidates) == (None, [])
        await system.request("e1")
        await system.ignored.get()
        assert (await system.intervene("instruct", "Hurry.", intervention_id="i1")).execution_id == "e1"
        await system.request("e2")
        await system.ignored.get()
        several = await system.intervene("instruct", "Hurry.", intervention_id="i2")
        assert (several.execution_id, several.candidates) == (None, ["e1", "e2"])
        assert (await system.intervene("instruct", "Hurry.", execution_id="e2")).execution_id == "e2"
        elsewhere = await system.intervene("instruct", "Hurry.", member_id="bob", execution_id="e2")
        assert (elsewhere.execution_id, elsewhere.over) == (None, None)
        system.silent.clear()
        await system.control("stop", None)
        await system.finished(2)
        late = await system.intervene("instruct", "Hurry.", execution_id="e1", intervention_id="i3")
        assert (late.execution_id, late.over) == (None, "cancelled")


@pytest.mark.parametrize("decision", list(DedupDecision))
async def test_the_learner_says_whether_the_goals_were_reached_before(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], decision: DedupDecision
) -> None:  # SC-13
    asked = list[CheckGoals]()

    def compare(question: CheckGoals) -> GoalsReply:
        asked.append(question)
        left = "## Goals\n1. Only the rest" if decision is DedupDecision.MERGE else None
        return GoalsReply(decision=decision, reason="scored at 9", execution_id="e0", goals=left)

    system.compare = compare
    await _switch_dedup_on(system)
    async with system.executor(**settings):
        await system.request()
        done = await system.over()
    (question,) = asked
    assert (question.goals, question.window_s, question.member_id) == (ANSWERS["goals"], 7200, MEMBER)
    assert (done.status, done.error) == (ExecStatus.COMPLETED, None)
    assert done.goals is not None
    if decision is DedupDecision.SKIP:
        assert (done.skipped, done.tasks, done.delivery) == ("done before (execution e0): scored at 9", None, None)
        assert kinds(model) == {"goals": 1}
    else:
        assert kinds(model) == dict.fromkeys(ANSWERS, 1)
        shown = next(each.words for each in model.asked if kind(each) == "tasks")
        assert ("Only the rest" in shown, "Score Globex" in shown) == (
            decision is DedupDecision.MERGE,
            decision is DedupDecision.PROCEED,
        )
        assert len(done.notes) == (1 if decision is DedupDecision.MERGE else 0)


async def _switch_dedup_on(system: Harness) -> None:
    agents = {"agents": ["experts.scorer", "experts.writer"]}
    await system.keep(a_robot(config={"resources": agents, "dedup": {"on": True, "window": "2h"}}, rev=2))


async def test_without_a_learner_the_goals_wait_for_it(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # SC-13
    await _switch_dedup_on(system)
    await system.services["learner"].stop(1)
    async with system.executor(**settings):
        await system.request()
        waiting = await system.until(lambda execution: execution.goals is not None)
        assert (waiting.tasks, kinds(model)) == (None, {"goals": 1})
