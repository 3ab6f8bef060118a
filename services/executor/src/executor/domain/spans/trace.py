"""The spans of a run, all below its trigger's. Made of what is stored of it, so that the same run always gives the same
spans, with the same ids."""

from itertools import chain

from executor.domain.spans.calls import models_of, tokens, tools_of
from executor.domain.spans.record import Content, Record, Values
from executor.domain.spans.stages import below, stages_of
from executor.domain.spans.texts import said
from rota_common.runtime import traces
from rota_contracts.messages.run_trace import SpanKind, TraceSpan


def spans_of(record: Record) -> list[TraceSpan]:
    """The run's own span first, then the others by their beginning; of those that begin together the outer first."""
    trigger, *stages = stages_of(record)
    calls = below(stages, chain(models_of(record), tools_of(record)))
    others = sorted([trigger, *stages, *calls], key=lambda span: span.started_at)
    return [_root(record, trigger.span_id), *others]


def _root(record: Record, parent_id: str) -> TraceSpan:
    run, execution = record.run, record.run.execution
    used, began = execution.usage, record.began
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
        **tokens(used),
        **{f"rota.cost.{currency}": cost for currency, cost in used.costs.items()},
    }
    if record.content is not Content.NONE and execution.content is not None:
        more["gen_ai.output.messages"] = said(execution.content.summary)
    times = began, record.ended
    name = f"invoke_agent {execution.member_id}"
    span = record.span(SpanKind.RUN, name, times=times, error=execution.error, more=more)
    return span.model_copy(update={"span_id": traces.run_span(run.id), "parent_id": parent_id})
