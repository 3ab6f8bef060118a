"""Callbacks: results of calls that arrive later, from outside.

A process that can't return its result at once replies with the header `rota-status: pending`, and later sends it to the
gateway's path in `callback` of the call.
"""

from pydantic import Field

from rota_contracts.model import Json, Part

STATUS, PENDING = "rota-status", "pending"
"""Header of a process's reply, and its value if the result comes later."""


def callback_path(callback_id: str) -> str:
    """The gateway's path for the result. The id is the permission to send it, once."""
    return f"/v1/callbacks/{callback_id}"


class CallBack(Part):
    """Request to the executor: deliver the result of a call. `error` takes precedence over `output`."""

    callback_id: str = Field(min_length=1, max_length=200)
    output: Json = None
    error: str | None = Field(default=None, max_length=4000)


class CallbackReply(Part):
    """`execution_id` null: nothing waits for this result. `repeated`: a result was delivered before."""

    team_id: str | None = None
    execution_id: str | None = None
    repeated: bool = False
    over: str | None = Field(default=None, description="the status of the execution, if it has finished")
