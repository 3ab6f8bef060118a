"""What an assistant did for a task, turn by turn: what it was told, which tools it used, how its answer was judged."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import ValidationResult
from rota_contracts.model import Instant, Json, Part


class ToolStatus(StrEnum):
    """`unknown`: its worker died in it, and nobody can say whether it happened."""

    PENDING = "pending"
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    UNKNOWN = "unknown"


class ToolUse(Part):
    """One call of a tool or a process. `step_id` is its idempotency key; `call_id` is the model's name of it."""

    step_id: str
    call_id: str = ""
    name: str = Field(description="as the model calls it; of a process, its name")
    server: str | None = Field(default=None, description="the MCP server; None = a process")
    tool: str = ""
    arguments: Json = Field(default={}, description="an object; of a process, a list")
    idempotent: bool = Field(default=False, description="may be called again with its step id after a crash")
    status: ToolStatus = ToolStatus.PENDING
    output: Text | None = None
    error: str | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None


class Round(Part):
    """One answer of the model within a turn, and the tools it asked for. Without tools it is the turn's answer."""

    text: str = ""
    uses: list[ToolUse] = []
    at: Instant | None = None


class Turn(Part):
    """One exchange with a task's assistant: what it was told, what it did, what it said, how that was judged."""

    number: int = Field(ge=1)
    told: str = Field(default="", description="the reply that opened this turn; empty in the first one")
    rounds: list[Round] = []
    output: Text | None = None
    validation: ValidationResult | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None
