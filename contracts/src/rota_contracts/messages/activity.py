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
    """Published when a run starts or finishes a phase, a task, a turn or a tool call, when it waits, and with pieces of
    an answer while it is written."""

    execution_id: str
    kind: ActivityKind
    phase: str
    task_id: str | None = None
    text: str = Field(default="", max_length=2000)
    piece: int | None = Field(
        default=None,
        ge=1,
        description="answer.piece: its number in the answer of this turn; after answer.cleared it begins anew",
    )
    at: Instant
