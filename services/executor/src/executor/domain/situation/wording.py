"""The wording of triggers, lessons, results and interventions for agents and people."""

import json
from datetime import timedelta
from zoneinfo import ZoneInfo

from executor.domain.conversation.messages import Texts, read
from executor.domain.run import Run
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.trigger import InterventionAction, TriggerReceivedV1, TriggerType
from rota_contracts.robots.clock import ClockContext

DATA_LIMIT = 20_000
RESULT_LIMIT = 8_000
ON_TIME = timedelta(minutes=1)
SHORT = 30
"""Characters: names and numbers say what an event is about; texts don't fit into a line."""


def about(trigger: TriggerReceivedV1) -> str:
    """The subject of a run, in one line."""
    given = trigger.input
    match trigger.type:
        case TriggerType.HUMAN:
            action = f"{given.action}: " if given.action else ""
            return excerpt(action + " ".join(message.text() for message in given.messages), 300)
        case TriggerType.CLOCK:
            clock = given.clock
            return f"clock: {clock.day_of_week} {clock.now:%H:%M} ({clock.tz})" if clock else "clock"
        case _:
            values = [str(value) for value in given.data.values() if isinstance(value, str | int | float)]
            short = ", ".join(value for value in values if len(value) <= SHORT)
            return excerpt(f"{given.event_type or given.source or trigger.type}: {short}", 300)


def given_input(trigger: TriggerReceivedV1) -> str:
    """The trigger's whole input, for the goals agent."""
    given = trigger.input
    lines = []
    if given.action:
        lines.append(f"Action: {given.action}")
    lines += [message.text() for message in given.messages]
    if given.event_type or given.source:
        lines.append(f"Event: {given.event_type or 'unnamed'} from {given.source or 'outside'}")
    if given.data:
        lines.append(excerpt(json.dumps(given.data, ensure_ascii=False, indent=2), DATA_LIMIT))
    if given.clock:
        lines.append(clock_text(trigger))
    return "\n".join(lines)


def clock_text(trigger: TriggerReceivedV1) -> str:
    """The clock context in one line, flags in words, and the due instant of a late run."""
    clock = trigger.input.clock
    if clock is None:
        return ""
    flags = [
        name
        for name, on in (
            ("weekend", clock.is_weekend),
            ("start of the month", clock.is_month_start),
            ("end of the month", clock.is_month_end),
            ("end of the quarter", clock.is_quarter_end),
        )
        if on
    ]
    flagged = f" ({', '.join(flags)})" if flags else ""
    return f"{clock.day_of_week} {clock.now:%Y-%m-%d %H:%M} {clock.tz}{flagged}{_late(trigger, clock)}"


def _late(trigger: TriggerReceivedV1, clock: ClockContext) -> str:
    """The due instant of a run that was caught up on, in the robot's own zone."""
    due = trigger.scheduled_at
    if due is None or clock.now - due <= ON_TIME:
        return ""
    return f"; this run was due at {due.astimezone(ZoneInfo(clock.tz)):%A %Y-%m-%d %H:%M}"


def lessons_text(run: Run) -> str:
    """Lessons of earlier runs, as a list."""
    lines = [f"- [{lesson.type}] {lesson.content}" for lesson in run.execution.recalled]
    return "\n".join(lines) or "(nothing yet)"


def surroundings_text(run: Run) -> str:
    """The situation as sections; empty for a run without one."""
    around = run.surroundings
    if around is None:
        return ""
    unknown = "".join(f"\n(not known: {missing})" for missing in around.missing)
    since = f"Since {around.since:%A %Y-%m-%d %H:%M}, newest first:\n{around.happened or '(nothing)'}"
    return f"## Pending\n{around.pending or '(nothing)'}{unknown}\n\n## Since then\n{since}"


def known_text(run: Run) -> str:
    """Matches from the team's shared collections; empty if there are none."""
    parts = [f"### {entry.title or entry.id}\n{excerpt(entry.content, RESULT_LIMIT)}" for entry in run.execution.known]
    return "\n\n".join(parts)


def previous_results(run: Run, texts: Texts) -> str:
    """Results of the completed tasks; failed ones don't feed later tasks."""
    tasks = {task.id: task for task in run.execution.tasks or []}
    parts = []
    for result in run.execution.results:
        if result.status != "completed" or result.output is None:
            continue
        title = tasks[result.task_id].description or result.task_id
        parts.append(f"### {title}\n{excerpt(read(result.output, texts), RESULT_LIMIT)}")
    return "\n\n".join(parts) or "(none)"


def interventions_text(run: Run) -> str:
    """People's interventions in this run."""
    lines = [
        f"- [{each.action}] {each.text}"
        for each in run.execution.interventions
        if each.text and each.action in tuple(InterventionAction)
    ]
    return "\n".join(lines)
