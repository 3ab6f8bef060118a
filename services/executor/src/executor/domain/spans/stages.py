"""The stages of a run as spans: trigger, queue, phases, tasks, validations, and the times that it was parked.

They say where the time between calls went. Old readers of a trace know no kinds for them: to these they are of the
run, and `rota.stage` says which stage it is.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from executor.domain import journal
from executor.domain.outcomes import Recalled, RulesAnswered, VerdictGiven
from executor.domain.spans.record import Record, Times, Values
from executor.domain.spans.texts import preview
from rota_common.runtime import traces
from rota_contracts.messages.run_trace import STAGE, SpanKind, Stage, TraceSpan
from rota_contracts.robots.robot import Phase


def stages_of(record: Record) -> list[TraceSpan]:
    """In the order of their nesting: what stands below another comes after it."""
    phases = [*_phases(record)]
    working = [phase for phase in phases if phase.attributes["rota.phase"] == Phase.RUN]
    tasks = [*below(working, _tasks(record))]
    validations = below([*working, *tasks], _validations(record))
    return [
        *_before(record),
        *phases,
        *tasks,
        *validations,
        *below(phases, _recall(record)),
        *below([*phases, *tasks], _parked(record)),
    ]


def below(stages: Sequence[TraceSpan], spans: Iterator[TraceSpan]) -> Iterator[TraceSpan]:
    """Each span below the innermost of the `stages` in which it ended; where two of them meet, in the first."""
    for span in spans:
        parent = span.parent_id
        for _ in range(DEEPEST):
            found = (each for each in stages if each.parent_id == parent)
            inner = next((each for each in found if each.started_at <= span.ended_at <= each.ended_at), None)
            if inner is None:
                break
            parent = inner.span_id
        yield span.model_copy(update={"parent_id": parent})


DEEPEST = 3
"""A validation is below a task, which is below a phase."""


def _before(record: Record) -> Iterator[TraceSpan]:
    """The trigger's span lasts until the run's end, since all else is below it: it is the first one of Rota's."""
    trigger, began = record.run.execution.trigger, record.began
    received = min(trigger.received_at, began)
    came = min(trigger.scheduled_at or received, received)
    given = trigger.input
    why = {
        "id": trigger.trigger_id,
        "type": trigger.type.value,
        "source": given.source,
        "event_type": given.event_type,
        "event_id": given.event_id,
        "action": given.action,
        "retry_of": trigger.retry_of,
        "due_at": trigger.scheduled_at.isoformat() if trigger.scheduled_at else None,
    }
    more: Values = {f"rota.trigger.{name}": preview(str(value)) for name, value in why.items() if value is not None}
    words = (trigger.type, given.source, given.event_type or given.action)
    name = preview(f"trigger {' '.join(word for word in words if word)}")
    span = _stage(record, Stage.TRIGGER, name, times=(came, record.ended), more=more)
    yield span.model_copy(update={"parent_id": traces.caller(record.run.traceparent)})
    queue = _stage(record, Stage.QUEUE, "queue", times=(received, began))
    yield queue.model_copy(update={"parent_id": span.span_id})


def _phases(record: Record) -> Iterator[TraceSpan]:
    for number, visit in enumerate(record.run.execution.phases):
        times = visit.started_at, visit.finished_at or record.ended
        more: Values = {"rota.phase": visit.phase.value}
        yield _stage(record, Stage.PHASE, f"phase {visit.phase}", number, times=times, more=more)


def _tasks(record: Record) -> Iterator[TraceSpan]:
    """Those that were begun."""
    for number, result in enumerate(record.run.execution.results):
        if result.started_at is not None:
            times = result.started_at, result.finished_at or record.ended
            more: Values = {"rota.task_id": result.task_id, "rota.status": result.status.value}
            name = f"task {result.task_id}"
            yield _stage(record, Stage.TASK, name, number, times=times, error=result.error, more=more)


def _validations(record: Record) -> Iterator[TraceSpan]:
    """The rules' verdict, and the semantic one, which is asked for as soon as the rules have passed."""
    passed = record.began
    for number, entry in enumerate(record.entries):
        if entry.kind == RulesAnswered.__name__:
            given, times, passed = entry.data["checked"], (entry.began or entry.at, entry.at), entry.at
            yield _validation(record, number, "rules", times, entry.data, given["verdict"])
        elif entry.kind == VerdictGiven.__name__:
            yield _validation(record, number, "meaning", (passed, entry.at), entry.data, entry.data["verdict"])


def _validation(
    record: Record, number: int, layer: str, times: Times, given: dict[str, Any], verdict: dict[str, Any]
) -> TraceSpan:
    more: Values = {
        "rota.task_id": given["task_id"],
        "gen_ai.evaluation.name": layer,
        "gen_ai.evaluation.score.value": float(verdict["score"]),
        "gen_ai.evaluation.score.label": "pass" if verdict["passed"] else "fail",
    }
    name, error = f"validate {layer}", given.get("error")
    return _stage(record, Stage.VALIDATION, name, number, times=times, error=error, more=more)


def _recall(record: Record) -> Iterator[TraceSpan]:
    """The memory is asked once."""
    for entry in record.entries:
        if entry.kind == Recalled.__name__:
            yield _stage(record, Stage.RECALL, "recall lessons", times=(entry.began or record.began, entry.at))


def _parked(record: Record) -> Iterator[TraceSpan]:
    """From giving its slot back to getting another, or to its end."""
    since: datetime | None = None
    for number, entry in enumerate(record.entries):
        if entry.kind == journal.PARKED:
            since = since or entry.at
        elif since is not None and entry.kind in (journal.GRANTED, journal.FINISHED):
            yield _stage(record, Stage.PARKED, "parked", number, times=(since, entry.at))
            since = None
    if since is not None:
        yield _stage(record, Stage.PARKED, "parked", len(record.entries), times=(since, record.ended))


def _stage(
    record: Record,
    stage: Stage,
    name: str,
    *place: int,
    times: Times,
    error: str | None = None,
    more: Values | None = None,
) -> TraceSpan:
    attributes: Values = {STAGE: stage.value, **(more or {})}
    return record.span(SpanKind.RUN, name, stage.value, *place, times=times, error=error, more=attributes)
