"""The spans of a run, made of what is stored of it."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED, new_run
from services.executor.tests.harness import TOOLS, StepHarness, calls

from executor.adapters.in_memory import InMemoryBlobs, ScriptedModel, ScriptedProcesses, ScriptedTools
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.domain import journal
from executor.domain.lifecycle import next_step
from executor.domain.outcomes import StepDelayed
from executor.domain.run import Run
from executor.domain.spans.record import Content, Record
from executor.domain.spans.trace import spans_of
from executor.domain.steps import Finish
from executor.reads import read_trace
from executor.reads.read_steps import asked_of
from executor.reads.read_trace import AnswerTrace, ReadSpans
from executor.steps.call_runner import Toolset
from executor.tool_ports import ToolFailed
from rota_common.runtime import traces
from rota_common.testing.samples import NOON
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.run_trace import STAGE, ReadTrace, SpanKind, Stage, TraceSpan
from rota_contracts.messages.usage import ModelCall, Usage
from rota_contracts.robots.robot import Phase

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
    root, *_ = spans = spans_of(record(run))
    assert {span.trace_id for span in spans} == {"a" * 32}
    assert (root.name, root.kind, root.span_id) == ("invoke_agent ann", SpanKind.RUN, traces.run_span(run.id))
    assert [span.name for span in spans if span.parent_id == "b" * 16] == ["trigger event leads lead.created"]
    assert {span.parent_id for span in spans} <= {span.span_id for span in spans} | {"b" * 16}
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


async def test_the_stages_of_a_run_say_where_its_time_went_from_the_trigger_on() -> None:  # F19
    came = NOON - timedelta(seconds=5)
    run = new_run(received_at=came, scheduled_at=came - timedelta(seconds=2))
    shop = StepHarness(ScriptedModel("## Goals\n1. Score it", PLAN, "87", '{"summary": "Done.", "body": "# Done"}'))
    while not isinstance(next_step(run), Finish):
        shop.clock.forward(1)
        run = await shop.step(run)
        if run.execution.phase is Phase.TASKS and not run.parks:
            run = journal.record_parked(run, now=shop.clock())
            run = journal.record_granted(run, 1, now=shop.clock.forward(60))
    run = journal.record_finished(run, ExecStatus.COMPLETED, now=shop.clock())
    spans = spans_of(record(run))
    names, starts = {span.span_id: span.name for span in spans}, spans[1].started_at
    shown = [
        (names.get(span.parent_id, ""), span.name, *((at - starts).seconds for at in (span.started_at, span.ended_at)))
        for span in spans
    ]
    why, of = "trigger event leads lead.created", "invoke_agent ann"
    assert shown == [
        (why, of, 7, 76),
        ("", why, 0, 76),
        (why, "queue", 2, 7),
        (of, "phase goals", 7, 9),
        ("phase goals", "recall lessons", 7, 8),
        (of, "phase tasks", 9, 70),
        ("phase tasks", "parked", 9, 69),
        (of, "phase run", 70, 73),
        ("phase run", "task a", 71, 73),
        ("task a", "validate rules", 72, 72),
        ("task a", "validate meaning", 72, 73),
        (of, "phase delivery", 73, 75),
        (of, "phase learning", 75, 76),
    ]
    assert all(Stage(str(span.attributes[STAGE])) for span in spans[1:])
    assert spans[1].attributes["rota.trigger.due_at"] == (came - timedelta(seconds=2)).isoformat()


async def test_an_answer_that_is_full_leaves_out_calls_before_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    run, runs = await finished(), InMemoryRuns()
    await runs.create(run, owner="w1", lease=timedelta(minutes=1))
    answer_trace = AnswerTrace(runs=runs, read=ReadSpans(runs=runs, blobs=InMemoryBlobs()))
    question = ReadTrace(team_id=run.execution.team_id, execution_id=run.id)
    whole = (await answer_trace(question)).spans
    stages = [span for span in whole if span.kind is SpanKind.RUN]
    monkeypatch.setattr(read_trace, "MOST_SPANS", len(stages))
    full = await answer_trace(question)
    assert (full.spans, full.left_out) == (stages, len(whole) - len(stages))
    assert full.left_out > 0


async def test_the_tokens_of_its_models_are_those_of_the_run() -> None:  # CL-24
    run = await finished()
    root, *below = spans_of(record(run))
    used = run.execution.usage
    assert used.tokens_in > 0
    for name, total in (("input_tokens", used.tokens_in), ("output_tokens", used.tokens_out)):
        summed = sum(int(span.attributes.get(f"gen_ai.usage.{name}", 0)) for span in of(SpanKind.MODEL, below))
        assert root.attributes[f"gen_ai.usage.{name}"] == summed == total


async def test_a_trace_that_begins_at_rota_has_no_span_before_the_run() -> None:
    root, trigger, *_ = spans_of(record(await finished(traces.derived("t1"))))
    assert (root.trace_id, root.parent_id) == (traces.trace_id(traces.derived("t1")), trigger.span_id)
    assert trigger.parent_id == ""
    unknown, trigger, *_ = spans_of(record(await finished("no context")))
    assert (len(unknown.trace_id), trigger.parent_id) == (32, "")


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
