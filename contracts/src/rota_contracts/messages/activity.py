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
    ANSWER_PIECE = "answer.piece"
    ANSWER_CLEARED = "answer.cleared"


class ActivityV1(Payload):
    """Published when a run starts or finishes a phase, a task, a turn or a tool call, waits, or writes an answer."""

    execution_id: str
    kind: ActivityKind
    phase: str
    task_id: str | None = None
    text: str = Field(default="", max_length=2000)
    piece: int | None = Field(
        default=None, ge=1, description="answer.piece: its number, from 1; after answer.cleared from 1 again"
    )
    at: Instant
