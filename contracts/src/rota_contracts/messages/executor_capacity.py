"""The capacity of executors, and the reconciliation of slots."""

from pydantic import Field

from rota_contracts.messages.execution import ExecStatus
from rota_contracts.model import Instant, Part, Payload

REPORT_S = 1.0
"""Seconds between two reports of an executor."""

ALIVE_S = 5.0
"""Seconds without a report after which an executor's capacity counts as 0."""


class ExecutorReportedV1(Payload):
    """Published by each executor every second: how many executions it can run (0 = it stops).

    `team_id` and `member_id` are `_all_`.
    """

    executor_id: str
    capacity: int = Field(ge=0)
    at: Instant
    definitions_seen: int = Field(
        default=0,
        description="the sequence number of the bucket of definitions up to which it knows the current sets; 0: it "
        "doesn't follow them now",
    )


class CheckSlots(Part):
    """Request to the executor: read the status of executions that hold slots."""

    execution_ids: list[str] = Field(min_length=1, max_length=500)


class SlotState(Part):
    """`status` null: not found. `parks`: how often it was parked; `granted`: the grant that it last took up."""

    execution_id: str
    status: ExecStatus | None = None
    error: str | None = None
    parks: int = 0
    granted: int = 0


class SlotsReply(Part):
    """One state for each requested execution."""

    slots: list[SlotState]
