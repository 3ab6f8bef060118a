"""Events of the live stream, formatted as one line each."""

from collections.abc import Callable
from typing import Any

from rota.timestamps import utc_text
from rota_contracts import catalog

Event = dict[str, Any]

MARKS = {
    "phase.started": "▶",
    "phase.finished": "✓",
    "task.started": "  ▶",
    "task.finished": "  ✓",
    "verdict": "  ⚖",
}
TEXT_LIMIT = 120


def format_event(event: Event) -> str:
    """One line. An event of an unknown type is shown by the type's name."""
    data, name = event.get("data") or {}, str(event.get("type", "")).removeprefix(f"{catalog.ROOT}.")
    formatter = FORMATTERS.get(name) or (_delivery if name.startswith("delivery.") else _unknown)
    return f"{data.get('member_id', ''):<16} {_run(data):<8}  {formatter(name, data)}"


def _run(data: Event) -> str:
    """The beginning of the run's id, by which other commands find it: lines of several runs are mixed."""
    context = data.get("context")
    found = data.get("execution_id") or (context.get("execution_id") if isinstance(context, dict) else None)
    return str(found or "")[:8]


def _activity(name: str, data: Event) -> str:
    kind, place = str(data.get("kind")), str(data.get("task_id") or data.get("phase") or "")
    if data.get("doing"):
        return f"· {str(data['doing']).replace('_', ' ')} {place}"
    if again := data.get("retrying"):
        return f"↻ {place} again, {again['attempt']} of {again['max_attempts']}{_after_colon(data.get('text'))}"
    return f"{MARKS.get(kind, '·')} {kind.partition('.')[0]} {place}{_after_colon(data.get('text'))}"


def _verdict(name: str, data: Event) -> str:
    verdict = data.get("verdict") or {}
    outcome = "passed" if verdict.get("passed") else "not passed"
    return f"  ⚖ verdict {data.get('task_id')}: {data.get('error') or outcome}, score {verdict.get('score')}"


def _delivery(name: str, data: Event) -> str:
    result = data.get("result") or {}
    outcomes = result.get("results") or data.get("results") or ([result] if result.get("target") else [])
    targets = [f"{'✓' if one.get('success') else '✗'} {one.get('type')} {one.get('target')}" for one in outcomes]
    return f"✉ {name}{_after_colon(', '.join(targets))}"


def _learning(name: str, data: Event) -> str:
    lessons = [str(lesson.get("content")) for lesson in data.get("lessons") or []]
    detail = data.get("error") or data.get("skipped") or "; ".join(lessons)
    return f"✎ learned {len(lessons)} lessons{_after_colon(detail)}"


def _started(name: str, data: Event) -> str:
    return f"● run {data.get('execution_id')} started"


def _finished(name: str, data: Event) -> str:
    return f"■ run {data.get('status')}{_after_colon(data.get('error'))}"


def _parked(name: str, data: Event) -> str:
    return f"⏸ run {data.get('execution_id')} {data.get('status') or 'waits'}{_after_colon(data.get('reason'))}"


def _resumable(name: str, data: Event) -> str:
    return f"▶ run {data.get('execution_id')} resumes when it gets a slot"


def _intervened(name: str, data: Event) -> str:
    return f"☞ {data.get('action')} for run {data.get('execution_id')}{_after_colon(data.get('text'))}"


def _planned(name: str, data: Event) -> str:
    due = f", due {utc_text(data['plan_time'])}" if data.get("plan_time") else ""
    return f"☐ {data.get('action')} {data.get('plan_id')}{due}"


def _missed(name: str, data: Event) -> str:
    count = data.get("count") or 0
    when = f"{data.get('first')} to {data.get('last')}" if count > 1 else data.get("first")
    return f"✗ missed {count} run{'' if count == 1 else 's'}, due {when}{_after_colon(data.get('message'))}"


def _failed(name: str, data: Event) -> str:
    return f"✗ status: error since run {data.get('execution_id')} failed{_after_colon(data.get('message'))}"


def _recovered(name: str, data: Event) -> str:
    return f"✓ status: no longer error, run {data.get('execution_id')} completed"


def _notified(name: str, data: Event) -> str:
    to = f" for {data['subscriber']}" if data.get("subscriber") else ""
    return f"✉ notification on {data.get('channel')}{to}{_after_colon(data.get('title'))}"


def _disabled(name: str, data: Event) -> str:
    return f"✗ disabled {data.get('type')} {data.get('target')}{_after_colon(data.get('reason'))}"


def _enabled(name: str, data: Event) -> str:
    return f"✓ enabled {data.get('type')} {data.get('target')}"


def _rejected(name: str, data: Event) -> str:
    return f"✗ not run{_after_colon(data.get('message') or data.get('reason'))}"


def _approval(name: str, data: Event) -> str:
    approval = data.get("approval") or {}
    status = approval.get("status") or "pending"
    waits = "waits for an approval" if status == "pending" else status
    return f"? {approval.get('tool')} {waits} ({approval.get('approval_id')}){_after_colon(approval.get('arguments'))}"


def _dropped(name: str, data: Event) -> str:
    return f"… {data.get('dropped')} events dropped: this reader is too slow"


def _unknown(name: str, data: Event) -> str:
    return f"· {name}"


def _after_colon(text: object) -> str:
    """`: ` and the beginning of the text, on one line; nothing for an empty text."""
    line = " ".join(str(text or "").split())
    return f": {line if len(line) <= TEXT_LIMIT else line[: TEXT_LIMIT - 1] + '…'}" if line else ""


FORMATTERS: dict[str, Callable[[str, Event], str]] = {
    catalog.ACTIVITY.name: _activity,
    catalog.TRIGGER_REJECTED.name: _rejected,
    catalog.TRIGGER_MISSED.name: _missed,
    catalog.ROBOT_FAILED.name: _failed,
    catalog.ROBOT_RECOVERED.name: _recovered,
    catalog.NOTIFICATION_POSTED.name: _notified,
    catalog.EXECUTION_STARTED.name: _started,
    catalog.EXECUTION_FINISHED.name: _finished,
    catalog.EXECUTION_PARKED.name: _parked,
    catalog.EXECUTION_RESUMABLE.name: _resumable,
    catalog.EXECUTION_INTERVENED.name: _intervened,
    catalog.PLAN_CHANGED.name: _planned,
    catalog.APPROVAL_REQUESTED.name: _approval,
    catalog.APPROVAL_DECIDED.name: _approval,
    catalog.TARGET_DISABLED.name: _disabled,
    catalog.TARGET_ENABLED.name: _enabled,
    catalog.VALIDATION_COMPLETED.name: _verdict,
    catalog.LEARNING_COMPLETED.name: _learning,
    "rota.dropped": _dropped,
}
