"""How much the executors that are alive can take, and what they know of the slots that are held."""

from pydantic import Field

from rota_contracts.messages.execution import ExecStatus
from rota_contracts.model import Instant, Part, Payload

REPORT_S = 1.0
"""How often an executor says that it is alive."""

ALIVE_S = 5.0
"""One that hasn't said so for this long counts for nothing."""


class ExecutorReportedV1(Payload):
    """An executor is alive and can have so many executions at once; 0 says that it stops. Sent as `_all_`, `_all_`."""

    executor_id: str
    capacity: int = Field(ge=0)
    at: Instant


class CheckSlots(Part):
    """Question to the executor: what has become of these executions, which hold slots?"""

    execution_ids: list[str] = Field(min_length=1, max_length=500)


class SlotState(Part):
    """`status` None: no executor has it. `parks`: how often it was parked; `granted`: the last slot it has taken up."""

    execution_id: str
    status: ExecStatus | None = None
    error: str | None = None
    parks: int = 0
    granted: int = 0


class SlotsReply(Part):
    """One for each that was asked about."""

    slots: list[SlotState]
