"""Activity: the progress of runs, for people. Published without a stream: a lost message does no harm."""

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
    """Published when a run starts or finishes a phase, a task, a turn or a tool call, and when it waits."""

    execution_id: str
    kind: ActivityKind
    phase: str
    task_id: str | None = None
    text: str = Field(default="", max_length=2000)
    at: Instant
