"""The wording of triggers, lessons, results and interventions for agents and people."""

import json
from collections.abc import Collection
from datetime import timedelta
from zoneinfo import ZoneInfo

from executor.domain.conversation.made_files import files_of
from executor.domain.conversation.messages import Texts, read
from executor.domain.run import Run
from rota_contracts.messages.execution import TaskResult, excerpt
from rota_contracts.messages.trigger import InterventionAction, TriggerReceivedV1, TriggerType
from rota_contracts.robots.clock import ClockContext

DATA_LIMIT = 20_000
RESULT_LIMIT = 8_000
FAILURE_LIMIT = 500
FILES_LIMIT = 20
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
    """The trigger's whole input."""
    given = trigger.input
    lines = [words(trigger)]
    if given.event_type or given.source:
        lines.append(f"Event: {given.event_type or 'unnamed'} from {given.source or 'outside'}")
    lines += [data_text(trigger), clock_text(trigger)]
    return "\n".join(line for line in lines if line)


def words(trigger: TriggerReceivedV1) -> str:
    """A person's own words."""
    return "\n".join(message.text() for message in trigger.input.messages).strip()


def data_text(trigger: TriggerReceivedV1) -> str:
    data = trigger.input.data
    return excerpt(json.dumps(data, ensure_ascii=False, indent=2), DATA_LIMIT) if data else ""


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
    """Lessons of earlier runs, each once, as a list; empty if there are none."""
    lines = [f"- [{lesson.type}] {lesson.content}" for lesson in run.execution.recalled]
    return "\n".join(dict.fromkeys(lines))


def pending_text(run: Run) -> str:
    """What is planned, waits or is under way; empty for a run that hasn't looked around."""
    around = run.surroundings
    if around is None or (around.short and not around.pending):
        return ""
    unknown = "".join(f"\n(not known: {missing})" for missing in around.missing)
    return f"{around.pending or '(nothing)'}{unknown}"


def since_text(run: Run) -> str:
    """What the robot's runs did since its last report; empty for a run that hasn't looked around."""
    around = run.surroundings
    if around is None or (around.short and not around.happened):
        return ""
    return f"Since {around.since:%A %Y-%m-%d %H:%M}, newest first:\n{around.happened or '(nothing)'}"


def known_text(run: Run) -> str:
    """Matches from the team's shared collections; empty if there are none."""
    parts = [f"### {entry.title or entry.id}\n{excerpt(entry.content, RESULT_LIMIT)}" for entry in run.execution.known]
    return "\n\n".join(parts)


def previous_results(run: Run, texts: Texts) -> str:
    """Results of the completed tasks, each cut; failed ones don't feed later tasks."""
    return "\n\n".join(
        f"### {title}\n{excerpt(output, RESULT_LIMIT)}{files}" for title, output, files in _completed(run, texts)
    )


def whole_results(run: Run, texts: Texts) -> str:
    return "\n\n".join(output for _, output, _ in _completed(run, texts))


def _completed(run: Run, texts: Texts) -> list[tuple[str, str, str]]:
    """The title, the output, and the files of each completed task."""
    tasks = {task.id: task for task in run.execution.tasks or []}
    return [
        (tasks[result.task_id].description or result.task_id, read(result.output, texts), _files(result))
        for result in run.execution.results
        if result.status == "completed" and result.output is not None
    ]


def _files(result: TaskResult) -> str:
    made = ", ".join(f"{file.name} ({file.file})" for file in files_of(result)[:FILES_LIMIT])
    return f"\n(files that it made: {made})" if made else ""


def plan_text(run: Run) -> str:
    """The tasks in order, with how they ended and why they failed; empty without a plan."""
    ended = {result.task_id: result for result in run.execution.results}
    lines = []
    for task in sorted(run.execution.tasks or [], key=lambda task: task.order):
        result = ended.get(task.id)
        state = result.status if result else "not begun"
        failure = f" ({excerpt(result.error, FAILURE_LIMIT)})" if result and result.error else ""
        lines.append(f"- {' '.join(task.description.split()) or task.id}: {state}{failure}")
    return "\n".join(lines)


def interventions_text(run: Run, *, without: Collection[str] = ()) -> str:
    """People's interventions in this run, but for these texts."""
    lines = [
        f"- [{each.action}] {each.text}"
        for each in run.execution.interventions
        if each.text and each.action in tuple(InterventionAction) and each.text not in without
    ]
    return "\n".join(lines)
