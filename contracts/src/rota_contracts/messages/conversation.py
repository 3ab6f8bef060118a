"""The conversation with a task's assistant: its turns, tool calls and verdicts."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import ValidationResult
from rota_contracts.model import Instant, Json, Part


class ToolStatus(StrEnum):
    """The status of a tool call. `waiting`: for a person's approval. `unknown`: its worker crashed during the call,
    which may or may not have happened."""

    PENDING = "pending"
    WAITING = "waiting"
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    UNKNOWN = "unknown"


class MadeFile(Part):
    """A file that a tool made, which is kept as an attachment of the team. `file` is its wrapper."""

    file: str
    name: str


class ToolUse(Part):
    """One call of a tool or a process. `step_id` is its idempotency key; `call_id` is the model's id of it."""

    step_id: str
    call_id: str = ""
    name: str = Field(description="the name that the model uses; of a process, its own name")
    server: str | None = Field(default=None, description="the MCP server; null = a process")
    tool: str = ""
    arguments: Json = Field(default={}, description="an object; of a process, a list")
    idempotent: bool = Field(default=False, description="may be repeated with the same step id after a crash")
    status: ToolStatus = ToolStatus.PENDING
    output: Text | None = None
    error: str | None = None
    files: list[MadeFile] = Field(default=[], description="pictures, sound and files that the tool made")
    started_at: Instant | None = None
    finished_at: Instant | None = None


class Round(Part):
    """One completion of the model within a turn, with its tool calls. Without any, it is the answer of the turn."""

    text: str = ""
    thinking: Text | None = Field(default=None, description="the reasoning before the calls, as its provider wants it")
    uses: list[ToolUse] = []
    at: Instant | None = None


class Turn(Part):
    """One exchange with a task's assistant: the prompt, the tool calls, the answer and its verdict."""

    number: int = Field(ge=1)
    told: str = Field(default="", description="the reply that opens this turn; empty in the first one")
    rounds: list[Round] = []
    output: Text | None = None
    validation: ValidationResult | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None
