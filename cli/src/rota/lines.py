"""One line of text for each event of the live stream."""

from typing import Any

from rota_contracts import catalog
from rota_contracts.model import Payload

Event = dict[str, Any]

MARKS = {
    "phase.started": "▶",
    "phase.finished": "✓",
    "task.started": "  ▶",
    "task.finished": "  ✓",
    "verdict": "  ⚖",
}


def name_of(event: Event) -> str:
    """The channel's name: `execution.started` for the type `rota.v1.execution.started`."""
    return str(event.get("type", "")).removeprefix(f"{catalog.ROOT}.")


def is_of(event: Event, channel: catalog.Channel[Payload]) -> bool:
    return event.get("type") == channel.type


def line_of(event: Event) -> str:
    """What happened, in words. An event of a kind that this program doesn't know is named by its type."""
    data, name = event.get("data") or {}, name_of(event)
    whose = f"{data.get('member_id', '?'):<16}"
    return f"{whose} {_told(name, data)}"


def _told(name: str, data: Event) -> str:
    if name == catalog.ACTIVITY.name:
        return _activity(data)
    if name.startswith("delivery."):
        return _delivery(name, data)
    if name == catalog.TRIGGER_REJECTED.name:
        return f"✗ not run: {data.get('message') or data.get('reason')}"
    if name == catalog.EXECUTION_FINISHED.name:
        return f"■ run {data.get('status')}" + (f": {data['error']}" if data.get("error") else "")
    if name == catalog.EXECUTION_STARTED.name:
        return f"● run {data.get('execution_id')} started"
    if name == catalog.NOTIFICATION_POSTED.name:
        return f"✉ notify {data.get('channel')}: {data.get('title')}"
    return f"· {name}"


def _activity(data: Event) -> str:
    kind, where = str(data.get("kind")), str(data.get("task_id") or data.get("phase") or "")
    text = " ".join(str(data.get("text") or "").split())
    return f"{MARKS.get(kind, '·')} {kind.partition('.')[0]} {where}" + (f": {text[:160]}" if text else "")


def _delivery(name: str, data: Event) -> str:
    result = data.get("result") or {}
    outcomes = result.get("results") or data.get("results") or ([result] if result.get("target") else [])
    targets = [f"{'✓' if one.get('success') else '✗'} {one.get('type')} {one.get('target')}" for one in outcomes]
    return f"✉ {name}" + (f": {', '.join(targets)}" if targets else "")
