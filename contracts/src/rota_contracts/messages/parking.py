"""Executions that wait hold no slot: parked while they can't go on, resumable when they can."""

from pydantic import Field

from rota_contracts.messages.execution import ExecStatus
from rota_contracts.model import Instant, Payload


class ExecutionParkedV1(Payload):
    """The execution waits (for a person, or paused): its slot is free. `parks` counts how often it has."""

    execution_id: str
    status: ExecStatus
    reason: str = ""
    parks: int = Field(ge=1)
    parked_at: Instant


class ExecutionResumableV1(Payload):
    """A parked execution can go on and wants a slot; the request for it carries `parks` as its `grant`."""

    execution_id: str
    parks: int = Field(ge=1)
    resumable_at: Instant
