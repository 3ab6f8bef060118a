"""The calls of a run as spans: of models and of tools."""

from collections.abc import Iterator
from datetime import timedelta

from executor.domain.run import JournalEntry
from executor.domain.spans.record import Content, Record, Times, Values
from executor.domain.spans.texts import preview, said, shown, whole
from executor.domain.steps import asks_model
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.run_trace import SpanKind, TraceSpan
from rota_contracts.messages.usage import ModelCall, Usage

FAILED = ("StepDelayed", "StepFailed")
LOOKED_UP = "LookedUp"


def models_of(record: Record) -> Iterator[TraceSpan]:
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


def _times(entry: JournalEntry, seconds: float, *, at_end: bool) -> Times:
    duration = timedelta(seconds=seconds)
    if at_end or entry.began is None:
        return entry.at - duration, entry.at
    return entry.began, min(entry.began + duration, entry.at)


def _model(
    record: Record,
    place: tuple[int, ...],
    times: Times,
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
    if call.connector:
        more["rota.connector"] = call.connector
    if call.usage is not None:
        more |= tokens(call.usage)
    if call.cost is not None:
        more |= {"rota.cost": call.cost, "rota.currency": call.currency}
    if wrote and record.content is not Content.NONE:
        more["gen_ai.output.messages"] = said(wrote)
    name = f"chat {call.model}".strip()
    return record.span(SpanKind.MODEL, name, "model", *place, times=times, error=error, more=more)


def tools_of(record: Record) -> Iterator[TraceSpan]:
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


def _tool(record: Record, use: ToolUse, times: Times, task: str = "") -> TraceSpan:
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
    name = f"execute_tool {use.name}"
    return record.span(SpanKind.TOOL, name, "tool", use.step_id, times=times, error=use.error, more=more)


def tokens(used: Usage) -> Values:
    given: Values = {"gen_ai.usage.input_tokens": used.tokens_in, "gen_ai.usage.output_tokens": used.tokens_out}
    return given | ({"gen_ai.usage.cache_read.input_tokens": used.tokens_cached} if used.tokens_cached else {})
