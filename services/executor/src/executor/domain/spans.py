"""The spans of a run: itself, its calls of models, its calls of tools. Made of what is stored of it, so that the same
run always gives the same spans, with the same ids."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from executor.domain.run import JournalEntry, Run
from executor.domain.steps import asks_model
from rota_common.redaction import json_without_credentials, without_credentials
from rota_common.runtime import traces
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.run_trace import SpanKind, TraceSpan
from rota_contracts.messages.text import Text
from rota_contracts.messages.usage import ModelCall, Usage

PREVIEW, WHOLE = 500, 50_000
"""Characters of an output, and of an input where inputs are shown."""

FAILED = ("StepDelayed", "StepFailed")
LOOKED_UP = "LookedUp"
Values = dict[str, bool | int | float | str]


class Content(StrEnum):
    """The texts that spans show: none, the beginning of outputs, inputs too."""

    NONE = "none"
    PREVIEW = "preview"
    VERBOSE = "verbose"


@dataclass(frozen=True)
class Record:
    """A run with all of its journal. By an entry's place: what other agents' calls took (`asked`), and the text that
    its model wrote (`wrote`), as far as content is shown."""

    run: Run
    entries: Sequence[JournalEntry]
    asked: Mapping[int, Sequence[ModelCall]] = field(default_factory=dict)
    wrote: Mapping[int, str] = field(default_factory=dict)
    content: Content = Content.NONE

    @property
    def trace_id(self) -> str:
        return traces.trace_id(traces.continued(self.run.traceparent, cause=self.run.id))


def spans_of(record: Record) -> list[TraceSpan]:
    """The run's own span first, then those below it by their beginning."""
    below = [*_models(record), *_tools(record)]
    below.sort(key=lambda span: (span.started_at, span.span_id))
    return [_root(record), *below]


def _root(record: Record) -> TraceSpan:
    run, execution = record.run, record.run.execution
    ended = execution.finished_at or max([entry.at for entry in record.entries], default=execution.created_at)
    used, began = execution.usage, execution.started_at or execution.created_at
    more: Values = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "rota",
        "gen_ai.agent.id": execution.member_id,
        "gen_ai.agent.name": execution.member_id,
        "gen_ai.conversation.id": run.id,
        "rota.status": execution.status.value,
        "rota.mode": execution.executor_mode.value,
        "rota.trigger.id": execution.trigger.trigger_id,
        "rota.trigger.type": execution.trigger.type.value,
        "rota.waited_s": max((began - execution.trigger.received_at).total_seconds(), 0.0),
        "rota.model_calls": used.calls,
        **_tokens(used),
        **{f"rota.cost.{currency}": cost for currency, cost in used.costs.items()},
    }
    if record.content is not Content.NONE and execution.content is not None:
        more["gen_ai.output.messages"] = _said(execution.content.summary)
    span = _span(record, SpanKind.RUN, f"invoke_agent {execution.member_id}", (), (began, ended), execution.error, more)
    caller = traces.caller(run.traceparent)
    return span.model_copy(update={"span_id": traces.run_span(run.id), "parent_id": caller})


def _models(record: Record) -> Iterator[TraceSpan]:
    """Calls that failed too, as far as a step of the run ended with them; their models aren't known."""
    for number, entry in enumerate(record.entries):
        if entry.call is not None:
            times = _times(entry, entry.call.seconds, at_end=entry.began is None)
            yield _model(record, (number,), times, entry, entry.call, record.wrote.get(number, ""))
        elif entry.kind in FAILED and asks_model(entry.step):
            reason = entry.data.get("reason", "") if isinstance(entry.data, dict) else ""
            yield _model(record, (number,), (entry.began or entry.at, entry.at), entry, ModelCall(), error=str(reason))
        for index, call in enumerate(record.asked.get(number, ())):
            times = _times(entry, call.seconds, at_end=True)
            yield _model(record, (number, index), times, entry, call)


def _times(entry: JournalEntry, seconds: float, *, at_end: bool) -> tuple[datetime, datetime]:
    duration = timedelta(seconds=seconds)
    if at_end or entry.began is None:
        return entry.at - duration, entry.at
    return entry.began, min(entry.began + duration, entry.at)


def _model(
    record: Record,
    place: tuple[int, ...],
    times: tuple[datetime, datetime],
    entry: JournalEntry,
    call: ModelCall,
    wrote: str = "",
    error: str | None = None,
) -> TraceSpan:
    more: Values = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": call.provider or call.connector or "unknown",
        "rota.step": entry.step,
    }
    if call.model:
        more |= {"gen_ai.request.model": call.model, "gen_ai.response.model": call.model}
    if call.agent:
        more["gen_ai.agent.name"] = call.agent
    if call.usage is not None:
        more |= _tokens(call.usage)
    if call.cost is not None:
        more |= {"rota.cost": call.cost, "rota.currency": call.currency}
    if wrote and record.content is not Content.NONE:
        more["gen_ai.output.messages"] = _said(wrote)
    return _span(record, SpanKind.MODEL, f"chat {call.model}".strip(), ("model", *place), times, error, more)


def _tools(record: Record) -> Iterator[TraceSpan]:
    """Calls that were begun; those refused before that are no calls."""
    tasks = [
        (each, result.task_id)
        for result in record.run.execution.results
        for turn in result.turns
        for each in turn.rounds
    ]
    for made, task in [*((each, "") for each in record.run.looked_up), *tasks]:
        for use in made.uses:
            if use.started_at is not None:
                yield _tool(record, use, (use.started_at, use.finished_at or use.started_at), task)
    looking = [entry for entry in record.entries if entry.kind == LOOKED_UP]
    for made, entry in zip(record.run.looked_up, looking, strict=False):
        _, asked = _times(entry, entry.call.seconds if entry.call else 0.0, at_end=False)
        for use in made.uses:
            yield _tool(record, use, (asked, entry.at))


def _tool(record: Record, use: ToolUse, times: tuple[datetime, datetime], task: str = "") -> TraceSpan:
    more: Values = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": use.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": use.call_id or use.step_id,
        "rota.step_id": use.step_id,
        "rota.status": use.status.value,
        "rota.server": use.server or "process",
    }
    if task:
        more["rota.task_id"] = task
    if record.content is not Content.NONE and use.output is not None:
        more["gen_ai.tool.call.result"] = preview(shown(use.output))
    if record.content is Content.VERBOSE:
        more["gen_ai.tool.call.arguments"] = whole(use.arguments)
    return _span(record, SpanKind.TOOL, f"execute_tool {use.name}", ("tool", use.step_id), times, use.error, more)


def _span(
    record: Record,
    kind: SpanKind,
    name: str,
    place: tuple[str | int, ...],
    times: tuple[datetime, datetime],
    error: str | None,
    more: Values,
) -> TraceSpan:
    execution = record.run.execution
    owner: Values = {"rota.team_id": execution.team_id, "rota.member_id": execution.member_id}
    owner["rota.execution_id"] = record.run.id
    if error is not None:
        owner["error.type"] = "_OTHER"
    return TraceSpan(
        trace_id=record.trace_id,
        span_id=traces.span_id(record.run.id, *place),
        parent_id=traces.run_span(record.run.id),
        name=name,
        kind=kind,
        started_at=times[0],
        ended_at=max(times),
        error=None if error is None else preview(error),
        attributes=owner | more,
    )


def _tokens(used: Usage) -> Values:
    tokens: Values = {"gen_ai.usage.input_tokens": used.tokens_in, "gen_ai.usage.output_tokens": used.tokens_out}
    return tokens | ({"gen_ai.usage.cache_read.input_tokens": used.tokens_cached} if used.tokens_cached else {})


def _said(text: str) -> str:
    said = [{"role": "assistant", "parts": [{"type": "text", "content": preview(text)}]}]
    return json.dumps(said, ensure_ascii=False)


def shown(text: Text) -> str:
    """A text that is kept by reference is shown by its size."""
    return text.inline or "" if text.ref is None else f"({text.ref.size} bytes)"


def preview(text: str) -> str:
    """The beginning of an output, without credentials: one that the cut would halve is hidden first."""
    return excerpt(without_credentials(text[:WHOLE]), PREVIEW)


def whole(value: Any) -> str:
    """An input as JSON, without credentials."""
    return excerpt(json.dumps(json_without_credentials(value), ensure_ascii=False), WHOLE)
