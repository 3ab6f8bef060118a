"""Executions with a model behind the real OpenAI protocol: answers as models give them, and refusals."""

import json
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import structlog

from rota_common.stores.blobs import Blobs
from rota_common.testing.bus import Listener, stored
from rota_common.testing.openai_server import Answer, ModelRequest, OpenAIServer, Reply, openai_server
from rota_common.testing.samples import MEMBER, TEAM
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecStatus, TaskStatus
from rota_contracts.messages.text import INLINE_LIMIT
from tests.integration.executor.harness import KEY, Harness, kind, kinds, scripted

PLAN = [
    {"id": "a", "description": "Score it", "executor_id": "scorer", "expected_output": "a score"},
    {"id": "b", "description": "Write it", "executor_id": "experts.writer", "validation_rules": ["Be kind."]},
]
ANSWERS: dict[str, str] = {
    "goals": 'Sure! Here are the goals:\n```json\n{"content": "## Goals\\n1. Score Globex"}\n```\nShall I go on?',
    "tasks": f"I have thought about it [1].\n\n{json.dumps({'tasks': PLAN})}\n\nGood luck!",
    "run: Score it": "87 of 100",
    "run: Write it": "Dear Globex",
    "delivery": f"```\n{json.dumps({'summary': 'Globex is hot.', 'body': '# Globex'})}\n```",
}


def answers(asked: ModelRequest) -> Answer:
    return ANSWERS[kind(asked)]


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(answers) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, model: OpenAIServer) -> dict[str, Any]:
    return scripted(tmp_path / "connectors", model.url)


def instead(what: str, *replies: Answer) -> Callable[[ModelRequest], Answer]:
    """A script that gives these answers to the first requests of one kind, and the usual ones to all others."""
    left = list(replies)
    return lambda asked: left.pop(0) if left and kind(asked) == what else answers(asked)


async def test_answers_wrapped_in_prose_and_fences_are_parsed(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # CL-22 EX-13
    async with system.executor(**settings):
        await system.request()
        done = await system.over()
    assert (done.status, done.error) == (ExecStatus.COMPLETED, None)
    assert done.goals is not None
    assert done.goals.content == "## Goals\n1. Score Globex"
    assert [(task.id, task.executor_id) for task in done.tasks or []] == [
        ("a", "experts.scorer"),
        ("b", "experts.writer"),
    ]
    assert done.notes == ["plan: task a asked for scorer, given to assistant experts.scorer"]
    assert [result.output.inline for result in done.results if result.output] == ["87 of 100", "Dear Globex"]
    assert done.content is not None
    assert (done.content.summary, done.content.body.inline) == ("Globex is hot.", "# Globex")
    assert kinds(model) == dict.fromkeys(ANSWERS, 1)


async def test_the_connector_says_where_which_model_and_with_which_key(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # CL-10 CL-11
    async with system.executor(**settings):
        await system.request()
        await system.finished()
    assert {(asked.body["model"], asked.headers["authorization"]) for asked in model.asked} == {
        ("scripted", f"Bearer {KEY}")
    }
    assert {kind(asked): asked.body["temperature"] for asked in model.asked if kind(asked) in ("goals", "tasks")} == {
        "goals": 0.3,
        "tasks": 0.2,
    }


async def test_a_later_task_sees_the_results_of_the_earlier_ones(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-22
    async with system.executor(**settings):
        await system.request()
        await system.finished()
    shown = {kind(asked): asked.words for asked in model.asked}
    assert "(results so far: none)" in shown["run: Score it"]
    assert 'name="results so far">\n### Score it\n87 of 100' in shown["run: Write it"]
    assert "### Score it\n87 of 100\n\n### Write it\nDear Globex" in shown["delivery"]


async def test_a_plan_that_could_not_be_used_is_mended_by_the_second_answer(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:
    model.script = instead("tasks", "I would rather not plan.")
    async with system.executor(**settings):
        await system.request()
        done = await system.over()
    assert (done.status, kinds(model)["tasks"]) == (ExecStatus.COMPLETED, 2)
    first, second = (asked.words for asked in model.asked if kind(asked) == "tasks")
    assert "couldn't be used" not in first
    assert "Your last answer couldn't be used: expected a plan as JSON" in second


async def test_a_run_fails_with_the_reason_after_the_third_useless_plan(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:
    model.script = instead("tasks", "no", json.dumps({"tasks": []}), json.dumps({"tasks": ["unknown"]}))
    async with system.executor(**settings):
        await system.request()
        done = await system.over()
    assert (done.status, kinds(model)["tasks"], done.tasks) == (ExecStatus.FAILED, 3, None)
    assert done.error is not None
    assert done.error.startswith("tasks: expected a plan as JSON like")
    assert done.error.endswith("(3 attempts)")


@pytest.mark.once  # a doubled request is tried before Retry-After is over, and refused without a call: one more attempt
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_model_that_is_busy_is_asked_again_when_it_says(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], status: int
) -> None:
    model.script = instead("goals", *[Reply(status, "slow down", {"retry-after": "0.3"})] * 2)
    steps = await Listener.to(system.nats_url, catalog.ACTIVITY.subject(TEAM, MEMBER))
    async with system.executor(**settings):
        await system.request()
        done = await system.over()
    await steps.close()
    assert (done.status, done.error) == (ExecStatus.COMPLETED, None)
    assert kinds(model) == dict.fromkeys(ANSWERS, 1) | {"goals": 3}
    shown = [json.loads(message.data) for message in steps.messages if b"model scripted at" in message.data]
    assert {each["kind"] for each in shown} == {"run.retrying"}
    assert [each["retrying"]["attempt"] for each in shown if each["kind"] == "run.retrying"] == [1, 2]


async def test_a_model_server_that_is_away_is_waited_for(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # EX-61
    environ = settings["environ"] | {"MODEL_HOST": "http://127.0.0.1:9/v1"}
    async with system.executor(**settings | {"environ": environ}):
        await system.request()
        waiting = await system.until(lambda execution: execution.delayed is not None)
    assert waiting.delayed is not None
    expected = "model scripted at 127.0.0.1:9 doesn't answer (connection refused), next try at "
    assert waiting.delayed.startswith(expected)
    async with system.executor(**settings):
        done = await system.over()
    assert (done.status, done.delayed) == (ExecStatus.COMPLETED, None)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_model_that_refuses_fails_the_run_with_the_reason(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], status: int
) -> None:
    model.script = instead("goals", Reply(status, "no such thing"))
    async with system.executor(**settings):
        await system.request()
        done = await system.over()
    assert (done.status, kinds(model)) == (ExecStatus.FAILED, {"goals": 1})
    assert done.error is not None
    assert done.error.startswith("model scripted at 127.0.0.1:")
    assert "no such thing" in done.error


async def test_the_key_is_nowhere_to_be_seen(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model.script = instead("goals", Reply(401, f"Incorrect API key provided: {KEY}. Find yours at example.com"))
    everything = await Listener.to(system.nats_url, "rota.>")
    with structlog.testing.capture_logs() as lines:
        async with system.executor(**settings):
            await system.request()
            done = await system.over()
    await everything.close()
    assert done.error is not None
    assert "Incorrect API key provided: [REDACTED]" in done.error
    seen = [
        str(lines),
        caplog.text,
        done.model_dump_json(),
        *(message.data.decode() for message in everything.messages),
    ]
    assert [text for text in seen if KEY in text] == []


async def test_a_connector_without_its_key_fails_the_run_and_names_the_variable(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:  # CL-10
    async with system.executor(**settings | {"environ": {"MODEL_HOST": model.url}}):
        await system.request()
        done = await system.over()
    assert done.status is ExecStatus.FAILED
    assert "connector scripted can't be used: expected the environment variable MODEL_KEY" in str(done.error)
    assert model.asked == []


async def test_a_task_without_an_answer_fails_after_the_third_time(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:
    model.script = instead("run: Score it", "  ", "\n", "")
    async with system.executor(**settings):
        await system.request()
        done = await system.over()
    reason = "expected the result of the task from experts.scorer, got an empty answer"
    assert done.error == f"task a (Score it): run: {reason} (3 attempts)"
    assert ([result.status for result in done.results], kinds(model)["run: Score it"]) == ([TaskStatus.FAILED], 3)


async def test_an_empty_answer_is_mended_by_the_second(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:
    model.script = instead("run: Score it", "  ")
    async with system.executor(**settings):
        await system.request()
        done = await system.over()
    assert (done.status, kinds(model)["run: Score it"]) == (ExecStatus.COMPLETED, 2)


@pytest.mark.parametrize("mode", ["dryrun", "sandbox"])
async def test_a_run_that_is_not_in_standard_mode_asks_no_model(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], mode: str
) -> None:  # EX-07 EX-08 EX-09, DEC-28
    async with system.executor(**settings):
        await system.request(executor_mode=mode)
        done = await system.over()
    assert (done.status, done.executor_mode, model.asked) == (ExecStatus.COMPLETED, mode, [])
    note = "no sandbox runtime is configured: this run behaves like dryrun"
    assert done.notes == ([note] if mode == "sandbox" else [])
    (delivered,) = await stored(system.nats_url, catalog.DELIVERY_REQUESTED)
    assert delivered.data.executor_mode == mode
    assert await stored(system.nats_url, catalog.LEARNING_REQUESTED) == []
    assert (done.learning and done.learning.skipped) == "dry run"


async def test_long_outputs_are_kept_by_reference_and_can_be_read_back(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:
    long, body = "score " * 50_000 + "87", "# Globex\n" * 40_000 + "Kind regards"
    replaced = {"run: Score it": long, "delivery": json.dumps({"summary": "Long.", "body": body})}
    model.script = lambda asked: replaced.get(kind(asked)) or answers(asked)
    async with system.executor(**settings):
        await system.request()
        done = await system.over()
    first, second = (result.output for result in done.results)
    assert first is not None
    assert first.ref is not None
    assert first.ref.size == len(long) > INLINE_LIMIT
    assert second is not None
    assert second.inline == "Dear Globex"
    blobs = Blobs(system.services["validator"].bus)
    (verdict, *_) = await stored(system.nats_url, catalog.VALIDATION_REQUESTED)
    assert await blobs.read(verdict.data.output) == long
    assert done.content is not None
    assert done.content.body.ref is not None
    assert await blobs.read(done.content.body) == body
    shown = next(asked.words for asked in model.asked if kind(asked) == "run: Write it")
    assert "### Score it\nscore score score" in shown
    (lesson,) = await stored(system.nats_url, catalog.LEARNING_REQUESTED)
    assert lesson.data.summary.tasks[0].output.startswith("score score")
