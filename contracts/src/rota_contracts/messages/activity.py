"""Activity: the progress of runs, for people. Published without a stream: a lost message does no harm."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.usage import Usage
from rota_contracts.model import Instant, Part, Payload

ARGUMENTS = 50_000
"""Characters of a call's arguments."""


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
    RUN_STARTED = "run.started"
    RUN_RETRYING = "run.retrying"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    ACTIVITY = "activity"
    THINKING = "thinking"
    BLOCK_REPLY = "block.reply"


class LoopEvent(StrEnum):
    """The ten events of an agent loop."""

    RUN_STARTED = "run.started"
    ACTIVITY = "activity"
    CHUNK = "chunk"
    THINKING = "thinking"
    TOOL_CALL = "tool.call"
    TOOL_RESULT = "tool.result"
    BLOCK_REPLY = "block.reply"
    RUN_RETRYING = "run.retrying"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"


EVENTS: dict[ActivityKind, LoopEvent] = {
    ActivityKind.RUN_STARTED: LoopEvent.RUN_STARTED,
    ActivityKind.ACTIVITY: LoopEvent.ACTIVITY,
    ActivityKind.ANSWER_PIECE: LoopEvent.CHUNK,
    ActivityKind.THINKING: LoopEvent.THINKING,
    ActivityKind.TOOL_STARTED: LoopEvent.TOOL_CALL,
    ActivityKind.TOOL_FINISHED: LoopEvent.TOOL_RESULT,
    ActivityKind.BLOCK_REPLY: LoopEvent.BLOCK_REPLY,
    ActivityKind.RUN_RETRYING: LoopEvent.RUN_RETRYING,
    ActivityKind.RUN_COMPLETED: LoopEvent.RUN_COMPLETED,
    ActivityKind.RUN_FAILED: LoopEvent.RUN_FAILED,
}


class Doing(StrEnum):
    """What a run is at, in its loop."""

    THINKING = "thinking"
    TOOL_EXEC = "tool_exec"
    COMPACTING = "compacting"


class ObservedCall(Part):
    """A call of a tool. `arguments` as JSON, where inputs are shown; `is_error` once it has ended."""

    id: str
    name: str
    arguments: str | None = Field(default=None, max_length=ARGUMENTS)
    is_error: bool | None = None


class Retrying(Part):
    """A step that is tried again, after so many failures."""

    attempt: int = Field(ge=1)
    max_attempts: int = Field(ge=1)
    error: str


class ActivityV1(Payload):
    """Published when a run begins, ends, or is at anything in between: a phase, a task, a tool call, an answer."""

    execution_id: str
    kind: ActivityKind
    phase: str
    task_id: str | None = None
    text: str = Field(default="", max_length=2000)
    piece: int | None = Field(
        default=None, ge=1, description="answer.piece: its number, from 1; after answer.cleared from 1 again"
    )
    at: Instant
    event: LoopEvent | None = Field(default=None, description="the event of an agent loop that this is, if it is one")
    doing: Doing | None = Field(default=None, description="activity: what the run is at")
    iteration: int | None = Field(default=None, ge=0, description="activity: rounds of tools before, in this turn")
    call: ObservedCall | None = Field(default=None, description="tool.started and tool.finished: the call")
    retrying: Retrying | None = Field(default=None, description="run.retrying: how often, and why")
    usage: Usage | None = Field(default=None, description="run.completed: the tokens of all its models")
