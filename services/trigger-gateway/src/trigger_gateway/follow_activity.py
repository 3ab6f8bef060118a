"""Which facts of a team are shown live, and which of them belong to one execution."""

from typing import Any

from rota_contracts.catalog import CHANNELS, Channel
from rota_contracts.envelope import Event
from rota_contracts.ids import execution_id
from rota_contracts.model import Payload

_SHOWN = {
    *("validation.completed", "learning.completed", "activity.observed", "plan.changed", "notification.posted"),
    *("robot.failed", "robot.recovered", "target.disabled", "target.enabled"),
    *(f"delivery.{verb}" for verb in ("completed", "attempted", "settled", "failed")),
}


def shown_channels() -> list[Channel[Any]]:
    """Triggers, plans, executions, notifications, robots' errors, targets switched off and on, and how validation,
    delivery and learning went; no requests between services."""
    return [c for name, c in CHANNELS.items() if name in _SHOWN or name.startswith(("trigger.", "execution."))]


def execution_of(payload: Payload) -> str | None:
    """The execution that a fact is about; a trigger is about the one that it will start."""
    for owner in (payload, getattr(payload, "context", None)):
        if (found := getattr(owner, "execution_id", None)) is not None:
            return str(found)
    trigger_id = getattr(payload, "trigger_id", None)
    return execution_id(trigger_id) if trigger_id is not None else None


def as_cloud_event(event: Event[Any]) -> dict[str, Any]:
    """The fact as a CloudEvent in JSON."""
    return {
        "specversion": "1.0",
        "id": event.id,
        "type": event.type,
        "source": event.source,
        "time": event.time.isoformat(),
        "data": event.data.model_dump(mode="json"),
    }
