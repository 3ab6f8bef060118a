"""Calling a process: a NATS micro service of the team on `rota.v1.process.<team>.<name>`, answered by anyone."""

from pydantic import Field

from rota_contracts.model import Json, Name, Part

IDEMPOTENCY_KEY = "rota-idempotency-key"
"""Header of every call: the step's id, or the delivery's, the same at every attempt."""

ERROR_CODE, ERROR = "Nats-Service-Error-Code", "Nats-Service-Error"
"""Headers of a NATS micro service's answer that says it failed."""

STEP_ID = "rota.v1/step_id"
"""Key of a step's id in the `_meta` of a call of an MCP tool."""


class ProcessCall(Part):
    """The body of a call. The answer is any JSON; an error is a NATS micro service's error. An answer with the header
    `rota-status: pending` promises the result, which is then sent to `callback`."""

    step_id: str = Field(description="the idempotency key, also in the header rota-idempotency-key")
    team_id: Name
    member_id: Name
    execution_id: str
    task_id: str
    args: list[Json] = []
    callback: str = Field(default="", description="path of the gateway that takes a result which comes later")
