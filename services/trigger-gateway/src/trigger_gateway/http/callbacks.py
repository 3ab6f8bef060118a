"""Callbacks: results that were promised for later. Their senders have no key; the id can't be guessed."""

from typing import Annotated, Any

from fastapi import Path, Response
from pydantic import BaseModel, Field

from rota_contracts.catalog import CALL_BACK
from rota_contracts.messages.callback import CallBack
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import counted_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.http.errors import repeated
from trigger_gateway.problems import Conflict, FieldProblem, Invalid, NotFound
from trigger_gateway.strict import Strict

router = counted_router("callbacks")

ID_LIMIT = 200


class Result(Strict):
    """Exactly one of the two."""

    output: Any = Field(default=None, description="any JSON: the result of the call")
    error: Annotated[str, Field(min_length=1, max_length=4000)] | None = Field(
        default=None, description="why there is no output"
    )


class CallbackAccepted(BaseModel):
    """The execution continues with the result. 202 for the first result, 200 for later ones, which are dropped."""

    execution_id: str
    status_url: str
    message: str


@router.post(
    "/callbacks/{callback_id}",
    status_code=202,
    summary="Send the result of a call that was promised for later",
    responses=repeated(CallbackAccepted),
)
async def call_back(
    callback_id: Annotated[str, Path(description="from the call")], body: Result, response: Response, use: UseCasesDep
) -> CallbackAccepted:
    if len(callback_id) > ID_LIMIT:
        raise _unknown()
    output, error = _checked(body)
    answer = await rpc.call(use.ask, CALL_BACK, CallBack(callback_id=callback_id, output=output, error=error))
    if answer.execution_id is None:
        raise _unknown()
    if answer.over is not None and not answer.repeated:
        text = f"the execution {answer.execution_id} is {answer.over}: it no longer waits for this result"
        raise Conflict("execution_over", text)
    if answer.repeated:
        response.status_code = 200
    return CallbackAccepted(
        execution_id=answer.execution_id,
        status_url=f"/v1/teams/{answer.team_id}/executions/{answer.execution_id}",
        message="dropped: there is a result already" if answer.repeated else "accepted: the execution continues",
    )


def _checked(body: Result) -> tuple[Any, str | None]:
    given = body.model_fields_set
    if len(given) == 1 and (body.error is not None or "output" in given):
        return body.output, body.error
    text = 'expected either output or error, for example {"output": {"invoice": 7}} or {"error": "no such customer"}'
    raise Invalid("invalid_request", "the result is not valid", fields=[FieldProblem("output", text)])


def _unknown() -> NotFound:
    return NotFound(
        "callback_not_found", "no execution waits for a result under this id: it never existed, or has expired"
    )
