"""A run as text: its trigger, phases, interventions, tasks, deliveries and lessons."""

from collections.abc import Iterator

from rota.report_delivery import deliveries, undelivered
from rota.report_tasks import text_of, work
from rota.timestamps import duration_text, utc_time
from rota.trail import money_text
from rota_contracts.messages.delivery import DeliveryReply
from rota_contracts.messages.execution import Execution
from rota_contracts.messages.trigger import TriggerReceivedV1
from rota_contracts.messages.usage import ModelUsage


def report(run: Execution, delivery: DeliveryReply | None = None) -> Iterator[str]:
    """The lines; sections without content are omitted. `delivery`: every attempt at every target, if known."""
    yield from _head(run)
    yield from (f"delivery  ✗ {line}" for line in undelivered(run.delivery, delivery))
    yield from _section("Phases", _phases(run))
    yield from _section("Interventions", _interventions(run))
    yield from _section("Recalled", [f"- {lesson.content}" for lesson in run.recalled])
    if run.inspiration is not None:
        yield from _section("P0 Inspiration", run.inspiration.content.splitlines())
    if run.goals is not None:
        yield from _section("P1 Goals", run.goals.content.splitlines())
    yield from _section("P2 Tasks, P3 Run", work(run))
    if run.content is not None:
        yield from _section("P4 Delivery", [run.content.summary, "", *text_of(run.content.body).splitlines()])
    yield from _section("Targets", deliveries(run.delivery, delivery))
    yield from _section("P5 Learning", _lessons(run))


def _head(run: Execution) -> Iterator[str]:
    yield f"execution {run.execution_id}  {run.status.value}  (phase {run.phase.value}, {run.executor_mode.value})"
    yield f"robot     {run.team_id}/{run.member_id}, rev {run.robot_rev}"
    yield from _trigger(run.trigger)
    if run.deadline_at is not None and not run.status.over:
        yield f"deadline  {utc_time(run.deadline_at)}"
    if run.question is not None:
        asker = f"task {run.question.task_id}" if run.question.task_id else run.phase.value
        yield f"asks      {run.question.question} ({asker}, since {utc_time(run.question.asked_at)})"
        yield f'answer    rota answer {run.execution_id} "…"'
    if run.error:
        yield f"error     {run.error}"
    if run.delayed:
        yield f"waits     ⚠ {run.delayed}"
    if run.usage.calls:
        yield f"models    {_usage(run.usage)}"
    if run.skipped:
        yield f"skipped   {run.skipped}"
    yield from (f"note      {note}" for note in run.notes)


def _trigger(trigger: TriggerReceivedV1) -> Iterator[str]:
    """An event's with its type, its source and its sender's id: `rota events show` takes the latter two."""
    yield f"trigger   {trigger.type.value}, {utc_time(trigger.received_at)}"
    if (given := trigger.input).source:
        kind = f"{given.event_type} of" if given.event_type else "of"
        yield f"event     {kind} {given.source}: {given.event_id or 'without an id'}"
    if trigger.retry_of:
        yield f"retry of  {trigger.retry_of}"


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield title
        yield from (f"  {line}".rstrip() for line in lines)


def _phases(run: Execution) -> list[str]:
    return [
        f"{one.phase.value:<12} {utc_time(one.started_at)}  {duration_text(one.started_at, one.finished_at)}"
        for one in run.phases
    ]


def _interventions(run: Execution) -> list[str]:
    return [
        f"{utc_time(one.at)}  {one.action}"
        + (f": {one.text}" if one.text else "")
        + (f" → {one.effect}" if one.effect else "")
        for one in run.interventions
    ]


def _lessons(run: Execution) -> list[str]:
    learning = run.learning
    if learning is None:
        return []
    lessons = [f"{lesson.type.value}: {lesson.content}" for lesson in learning.lessons]
    return lessons + [line for line in (learning.skipped, learning.error) if line]


def _usage(used: ModelUsage) -> str:
    unknown = f", {used.unmeasured} calls without numbers" if used.unmeasured else ""
    costs = "".join(f", {money_text(cost, currency)}" for currency, cost in used.costs.items())
    tokens = f"{used.tokens_in} + {used.tokens_out} tokens ({used.tokens_cached} cached)"
    return f"{', '.join(used.models)}: {used.calls} calls, {tokens}, {used.seconds:g} s{costs}{unknown}"
