"""Results that come later, from outside: what waits for one goes on when it arrives (TG-01).

A process that can't answer at once answers with the header `rota-status: pending`. Its result is then sent to the
gateway's `callback` path that came with the call.
"""

from pydantic import Field

from rota_contracts.model import Json, Part

STATUS, PENDING = "rota-status", "pending"
"""Header of a process's answer, and its value where the result comes later."""


def callback_path(callback_id: str) -> str:
    """Where the gateway takes the result; whoever knows the id may send it, once."""
    return f"/v1/callbacks/{callback_id}"


class CallBack(Part):
    """Question to the executor: the result of a call is here. One of `output` and `error` counts: the error if set."""

    callback_id: str = Field(min_length=1, max_length=200)
    output: Json = None
    error: str | None = Field(default=None, max_length=4000)


class CallbackReply(Part):
    """`execution_id` None: nothing waits for this. `repeated`: this result, or another, was here before."""

    team_id: str | None = None
    execution_id: str | None = None
    repeated: bool = False
    over: str | None = Field(default=None, description="the execution is over: its status")
