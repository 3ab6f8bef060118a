"""Progress for people to watch. Plain publish: losing it does no harm, nothing is decided by it."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.model import Instant, Payload


class ActivityKind(StrEnum):
    PHASE_STARTED = "phase.started"
    PHASE_FINISHED = "phase.finished"
    TASK_STARTED = "task.started"
    TASK_FINISHED = "task.finished"
    VERDICT = "verdict"
    TURN_STARTED = "turn.started"
    TOOL_STARTED = "tool.started"
    TOOL_FINISHED = "tool.finished"
    WAITING = "waiting"
    PAUSED = "paused"


class ActivityV1(Payload):
    """A run has come one step further."""

    execution_id: str
    kind: ActivityKind
    phase: str
    task_id: str | None = None
    text: str = Field(default="", max_length=2000)
    at: Instant
