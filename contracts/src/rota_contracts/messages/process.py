"""Calls of processes: NATS micro services of a team on `rota.v1.process.<team>.<name>`."""

from pydantic import Field

from rota_contracts.model import Json, Name, Part

IDEMPOTENCY_KEY = "rota-idempotency-key"
"""Header of every call: the id of the step or the delivery, the same at every attempt."""

ERROR_CODE, ERROR = "Nats-Service-Error-Code", "Nats-Service-Error"
"""Headers of a failed reply of a NATS micro service."""

STEP_ID = "rota.v1/step_id"
"""Key of the step's id in the `_meta` of an MCP tool call."""


class ProcessCall(Part):
    """The body of a call. The reply is any JSON, or an error of a NATS micro service. A reply with the header
    `rota-status: pending` promises the result, which is then sent to `callback`."""

    step_id: str = Field(description="the idempotency key, also in the header rota-idempotency-key")
    team_id: Name
    member_id: Name
    execution_id: str
    task_id: str
    args: list[Json] = []
    callback: str = Field(default="", description="the gateway's path for a result that comes later")
