"""The spans of a run, made of what is stored of it."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from services.executor.tests.fixtures import EQUIPPED, new_run
from services.executor.tests.harness import TOOLS, StepHarness, calls

from executor.adapters.in_memory import ScriptedModel, ScriptedProcesses, ScriptedTools
from executor.domain import journal
from executor.domain.outcomes import StepDelayed
from executor.domain.run import Run
from executor.domain.spans import Content, Record, spans_of
from executor.reads.read_steps import asked_of
from executor.steps.call_runner import Toolset
from executor.tool_ports import ToolFailed
from rota_common.runtime import traces
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.run_trace import SpanKind, TraceSpan
from rota_contracts.messages.usage import ModelCall, Usage

PLAN = '{"tasks": [{"id": "a", "description": "Look", "executor_id": "writer", "expected_output": "a score"}]}'
CALL = ModelCall(
    model="small-1",
    provider="openai",
    agent="writer",
    usage=Usage(tokens_in=100, tokens_out=10, tokens_cached=40),
    seconds=2,
    cost=0.5,
    currency="USD",
)
SENT = f"00-{'a' * 32}-{'b' * 16}-01"
KEY = "sk-proj-4f9aB2c81dE07f6a5b3c9d2e"


async def answer(use: ToolUse) -> str:
    if use.tool == "note":
        raise ToolFailed(f"no: {KEY}")
    return "A customer"


async def finished(traceparent: str = SENT) -> Run:
    """A run whose first call of a model fails, and whose second call of a tool does."""
    asked = calls(("crm__lookup", {"name": "A", "api_key": KEY}), ("crm__note", {}), text="I'll look.")
    tools = Toolset(ScriptedTools(TOOLS, answer=answer), ScriptedProcesses())
    harness = StepHarness(
        ScriptedModel(
            "## Goals\n1. Score it",
            PLAN,
            asked.model_copy(update={"call": CALL}),
            f"87 of 100, with {KEY}".ljust(900, "."),
            '{"summary": "Done.", "body": "# Done"}',
        )
    )
    with_tools = replace(harness.run_step.calls, real=tools, recording=tools)
    harness.run_step = replace(harness.run_step, calls=with_tools)
    run = new_run(robot=EQUIPPED).model_copy(update={"traceparent": traceparent})
    run = await harness.step(run)
    delayed = StepDelayed("the model is away", None)
    began = harness.clock()
    run = journal.record_outcome(run, delayed, now=harness.clock.forward(3), began=began)
    return await harness.over(run)


def record(run: Run, content: Content = Content.NONE) -> Record:
    asked = {number: asked_of(entry) for number, entry in enumerate(run.unsaved)}
    wrote = {number: "87 of 100" * 100 for number, entry in enumerate(run.unsaved) if entry.said}
    return Record(run, run.unsaved, asked, wrote, content)


def of(kind: SpanKind, spans: list[TraceSpan]) -> list[TraceSpan]:
    return [span for span in spans if span.kind is kind]


async def test_a_run_is_one_trace_of_itself_its_models_and_its_tools() -> None:  # CL-24
    run = await finished()
    root, *below = spans = spans_of(record(run))
    assert {span.trace_id for span in spans} == {"a" * 32}
    assert (root.name, root.kind, root.parent_id) == ("invoke_agent ann", SpanKind.RUN, "b" * 16)
    assert {span.parent_id for span in below} == {root.span_id} == {traces.run_span(run.id)}
    assert len({span.span_id for span in spans}) == len(spans)
    assert spans == spans_of(record(run)), "the same run gives the same spans"
    failed, *_ = of(SpanKind.MODEL, spans)
    assert (failed.name, failed.error, failed.ended_at - failed.started_at) == (
        "chat",
        "the model is away",
        timedelta(seconds=3),
    )
    (called,) = [span for span in of(SpanKind.MODEL, spans) if span.name == "chat small-1"]
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small-1",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "rota.cost": 0.5,
        "rota.execution_id": run.id,
    }
    assert expected.items() <= called.attributes.items()
    tools = {span.name: span.error for span in of(SpanKind.TOOL, spans)}
    assert tools == {"execute_tool crm__lookup": None, "execute_tool crm__note": "no: [REDACTED]"}


async def test_the_tokens_of_its_models_are_those_of_the_run() -> None:  # CL-24
    run = await finished()
    root, *below = spans_of(record(run))
    used = run.execution.usage
    assert used.tokens_in > 0
    for name, total in (("input_tokens", used.tokens_in), ("output_tokens", used.tokens_out)):
        summed = sum(int(span.attributes.get(f"gen_ai.usage.{name}", 0)) for span in of(SpanKind.MODEL, below))
        assert root.attributes[f"gen_ai.usage.{name}"] == summed == total


async def test_a_trace_that_begins_at_rota_has_no_span_before_the_run() -> None:
    root, *_ = spans_of(record(await finished(traces.derived("t1"))))
    assert (root.trace_id, root.parent_id) == (traces.trace_id(traces.derived("t1")), "")
    unknown, *_ = spans_of(record(await finished("no context")))
    assert (len(unknown.trace_id), unknown.parent_id) == (32, "")


async def test_texts_are_shown_as_far_as_asked_and_never_with_credentials() -> None:  # CL-25
    run = await finished()
    silent, preview, verbose = (spans_of(record(run, content)) for content in Content)
    texts = ("gen_ai.output.messages", "gen_ai.tool.call.result", "gen_ai.tool.call.arguments")
    assert not any(name in span.attributes for span in silent for name in texts)
    assert not any("gen_ai.tool.call.arguments" in span.attributes for span in preview)
    said: Any = next(span for span in of(SpanKind.MODEL, preview) if texts[0] in span.attributes).attributes[texts[0]]
    assert len(json.loads(said)[0]["parts"][0]["content"]) == 500
    looked = next(span for span in verbose if span.name == "execute_tool crm__lookup").attributes
    assert (looked[texts[1]], json.loads(str(looked[texts[2]]))["name"]) == ("A customer", "A")
    assert KEY not in "".join(span.model_dump_json() for span in verbose)
