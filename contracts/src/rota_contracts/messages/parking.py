"""Parking: executions that wait hold no slot until they can go on."""

from pydantic import Field

from rota_contracts.messages.execution import ExecStatus
from rota_contracts.model import Instant, Payload


class ExecutionParkedV1(Payload):
    """Published when an execution waits for a person or is paused: its slot is free. `parks` counts these times."""

    execution_id: str
    status: ExecStatus
    reason: str = ""
    question: bool = Field(default=False, description="`reason` is a question to a person")
    parks: int = Field(ge=1)
    parked_at: Instant


class ExecutionResumableV1(Payload):
    """Published when a parked execution can go on and needs a slot. Its next grant carries `parks` as `grant`."""

    execution_id: str
    parks: int = Field(ge=1)
    resumable_at: Instant
