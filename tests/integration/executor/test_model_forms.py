"""Whole runs against models as OpenAI and Anthropic speak, and against one that calls tools in text alone."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from executor.adapters.in_memory import ScriptedTools
from executor.domain.conversation.chat import Tool
from rota_common.testing.bus import Listener
from rota_common.testing.model_answers import Completion, Usage
from rota_common.testing.openai_server import ModelRequest, OpenAIServer, openai_server
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecStatus, Execution
from tests.integration.executor.fixtures import ANSWERS, Script
from tests.integration.executor.harness import KEY, Harness, kind

PLAN = [{"id": "a", "description": "Score it", "executor_id": "experts.scorer"}]
SCORING = "run: Score it"
RESOURCES = {"agents": ["experts.scorer"], "mcp": [{"id": "crm"}]}
LOOKUP = Tool("crm__lookup", "crm", "lookup", "Looks it up", {"type": "object", "properties": {"name": {}}})
THINKING = {"max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024}}


class Crm(ScriptedTools):
    async def close(self) -> None: ...


def look(*names: str, reasoning: str) -> Completion:
    calls = [("crm__lookup", {"name": name}) for name in names]
    return Completion(calls, text="Let me look.", reasoning=reasoning, usage=Usage(100, 20, 30))


def in_text(*names: str) -> str:
    calls = [json.dumps({"name": "crm__lookup", "arguments": {"name": name}}) for name in names]
    return "\n".join(["Let me look.", *(f"<tool_call>{call}</tool_call>" for call in calls)])


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    rounds = [look("Globex", "Initech", reasoning="Both first."), look("Hooli", reasoning="One more."), "87 of 100"]
    async with openai_server(Script(tasks=[json.dumps({"tasks": PLAN})], **{SCORING: rounds})) as server:
        yield server


@pytest.fixture
def crm(monkeypatch: pytest.MonkeyPatch) -> Crm:
    made = Crm([LOOKUP])
    monkeypatch.setattr("executor.adapters.real.McpTools", lambda servers, **_: made)
    return made


@pytest.fixture
def run(system: Harness, tmp_path: Path, crm: Crm) -> Callable[..., Any]:
    """Runs once with a connector of this type, and returns the execution; its replay is the same."""

    async def done(type: str, host: str, **options: Any) -> Execution:
        connector = {
            "label": "Mine",
            "teams": ["*"],
            "type": type,
            "options": {"model": "m", "host": host, "key": KEY} | options,
        }
        (tmp_path / "mine.yaml").write_text(json.dumps(connector))
        await system.keep(a_robot(config={"resources": RESOURCES}, rev=2))
        async with system.executor(connector="mine", connectors_dir=tmp_path):
            await system.request()
            over = await system.over()
            replayed = await system.replay()
        assert replayed.difference == ""
        return over

    return done


def scored(model: OpenAIServer) -> list[ModelRequest]:
    return [asked for asked in model.asked if kind(asked) == SCORING]


def check(done: Execution, crm: Crm) -> None:
    assert (done.status, done.error, done.notes) == (ExecStatus.COMPLETED, None, [])
    assert [use.arguments for use in crm.calls] == [{"name": "Globex"}, {"name": "Initech"}, {"name": "Hooli"}]
    assert done.results[0].output is not None
    assert done.results[0].output.inline == "87 of 100"


async def test_a_run_on_openai_form_with_parallel_calls_and_reasoning_that_comes_back(
    run: Any, model: OpenAIServer, crm: Crm
) -> None:  # EX-45 EX-77
    done = await run("openai", model.url)
    check(done, crm)
    history = [each for each in scored(model)[-1].body["messages"] if each["role"] == "assistant"]
    assert [each["reasoning_content"] for each in history] == ["Both first.", "One more."]
    results = [each["tool_call_id"] for each in scored(model)[-1].body["messages"] if each["role"] == "tool"]
    assert results == [call["id"] for each in history for call in each["tool_calls"]]
    assert len(set(results)) == 3  # though the server gave the same ids in each round
    used = done.usage
    assert (used.calls, used.unmeasured, used.models) == (6, 0, ["m"])
    assert (used.tokens_in, used.tokens_out, used.tokens_cached) == (204, 44, 60)


async def test_a_run_on_anthropic_form_sends_signed_thinking_back(
    run: Any, model: OpenAIServer, crm: Crm
) -> None:  # EX-45
    done = await run("anthropic", model.anthropic_url, parameters=THINKING)
    check(done, crm)
    history = [each["content"] for each in scored(model)[-1].body["messages"] if each["role"] == "assistant"]
    assert [[block["type"] for block in blocks] for blocks in history] == [
        ["thinking", "text", "tool_use", "tool_use"],
        ["thinking", "text", "tool_use"],
    ]
    assert done.usage.tokens_cached == 60


async def test_a_model_without_tool_calls_gets_its_tools_and_their_answers_in_text(
    run: Any, model: OpenAIServer, crm: Crm
) -> None:  # CL-16 EX-47
    rounds = [in_text("Globex", "Initech"), in_text("Hooli"), "87 of 100"]
    model.script = Script(tasks=[json.dumps({"tasks": PLAN})], **{SCORING: rounds})
    done = await run("openai", model.url, capabilities={"tool_calls": False})
    check(done, crm)
    last = scored(model)[-1]
    assert '{"name": "crm__lookup", "description": "Looks it up"' in last.system
    roles = [each["role"] for each in last.body["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert last.words.count("<tool_result>") == 3


async def test_a_provider_without_usage_leaves_it_unknown(run: Any, model: OpenAIServer, crm: Crm) -> None:  # EX-77
    model.script = lambda asked: Completion(text=ANSWERS.get(kind(asked), "fine"), usage=None)
    done = await run("openai", model.url)
    assert (done.status, done.error) == (ExecStatus.COMPLETED, None)
    assert done.usage.unmeasured == done.usage.calls == 5
    assert (done.usage.tokens_in, done.usage.tokens_out) == (0, 0)


@pytest.mark.parametrize("form", ["openai", "anthropic"])
async def test_an_answer_that_breaks_off_is_asked_for_again(run: Any, model: OpenAIServer, crm: Crm, form: str) -> None:
    cut = Completion(text="## Goals\n1. Score it", cut=True)
    model.script = Script(goals=[cut], tasks=[json.dumps({"tasks": PLAN})])
    done = await run(form, model.url if form == "openai" else model.anthropic_url)
    assert (done.status, done.error, done.delayed) == (ExecStatus.COMPLETED, None, None)
    assert [kind(asked) for asked in model.asked].count("goals") == 2


LONG = "\n".join(f"{number}. The factory in Porto made more valves than the one in Lyon." for number in range(1, 9))
STREAMING = {"capabilities": {"streaming": True, "inline_thinking": False}}


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211")  # in litellm's own chunks
@pytest.mark.parametrize("form", ["openai", "anthropic"])
async def test_an_answer_is_streamed_in_pieces_while_it_is_written(
    run: Any, system: Harness, model: OpenAIServer, crm: Crm, form: str
) -> None:  # EX-46
    rounds = [look("Globex", reasoning=""), Completion(text=LONG, cut=True), LONG]
    model.script = Script(tasks=[json.dumps({"tasks": PLAN})], **{SCORING: rounds})
    watched = await Listener.to(system.nats_url, catalog.ACTIVITY.subject("*", "*"))
    done = await run(form, model.url if form == "openai" else model.anthropic_url, **STREAMING)
    seen = [json.loads(message.data) for message in watched.messages]
    await watched.close()
    assert (done.status, done.error, done.usage.unmeasured) == (ExecStatus.COMPLETED, None, 0)
    assert done.results[0].output is not None
    assert done.results[0].output.inline == LONG
    pieces = [each for each in seen if each["kind"] == "answer.piece"]
    whole = [each for each in seen[_last_beginning(seen) :] if each["kind"] == "answer.piece"]
    assert len(whole) > 2
    assert [each["piece"] for each in whole] == [*range(1, len(whole) + 1)]
    assert "".join(each["text"] for each in whole) == LONG
    assert all(each["text"] in LONG for each in pieces)


def _last_beginning(seen: list[dict[str, Any]]) -> int:
    return max(index for index, each in enumerate(seen) if each.get("piece") == 1)
