"""Every error as `{"error": {"code", "message", "fields"}}` with its status, without paths, addresses and secrets."""

from collections.abc import Sequence
from math import ceil
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from nats.errors import Error as NatsError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from rota_common.errors import Transient
from rota_common.stores.mongo import OUTAGES
from trigger_gateway import problems
from trigger_gateway.problems import STATUS, FieldProblem, Problem, error_body, plain

RETRY_AFTER_S = 2


class WrongField(BaseModel):
    field: str
    message: str


class ErrorBody(BaseModel):
    """`code` is for programs, `message` for people."""

    code: str
    message: str
    fields: list[WrongField] = []


class ErrorAnswer(BaseModel):
    error: ErrorBody


ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorAnswer, "description": "Refused, with the reason"},
    503: {"model": ErrorAnswer, "description": "A part of Rota is unavailable: send it again"},
}
"""For the documentation."""

TOO_MANY: dict[int | str, dict[str, Any]] = {
    429: {
        "model": ErrorAnswer,
        "description": "The rate limit of the minute is used up, or the robot's backlog is full",
        "headers": {"Retry-After": {"description": "seconds", "schema": {"type": "integer"}}},
    }
}
"""For the documentation."""

FRAMEWORK_ERRORS = {
    404: ("not_found", "this path does not exist: see /docs"),
    405: ("method_not_allowed", "this path doesn't accept this method: see /docs"),
    408: ("too_slow", "the body has not arrived in time: send it again"),
    413: ("too_large", "the body is larger than this path accepts"),
}


def repeated(answer: Any) -> dict[int | str, dict[str, Any]]:
    """For the documentation of a route whose first answer has another status."""
    return {200: {"model": answer, "description": "A repeat: nothing is done again"}}


def error_response(
    status: int, code: str, message: str, fields: Sequence[FieldProblem] = (), headers: dict[str, str] | None = None
) -> JSONResponse:
    headers = headers or {}
    if status == 503:
        headers.setdefault("retry-after", str(RETRY_AFTER_S))
    if status in (408, 413):
        headers["connection"] = "close"  # or the rest of the body would still be read and discarded
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(error_body(code, message, fields), status_code=status, headers=headers)


async def on_problem(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Problem)
    headers = {"retry-after": str(error.after)} if isinstance(error, problems.TooMany) else None
    return error_response(STATUS[type(error)], error.code, error.message, error.fields, headers)


async def on_transient(_: Request, error: Exception) -> JSONResponse:
    """Its message is worded for callers where it is raised."""
    after = error.after if isinstance(error, Transient) else None
    headers = {"retry-after": str(ceil(after))} if after else None
    return error_response(503, "unavailable", str(error), headers=headers)


async def on_mongo_outage(_: Request, error: Exception) -> JSONResponse:
    return error_response(503, "unavailable", f"MongoDB: {type(error).__name__}")


async def on_nats_error(_: Request, error: Exception) -> JSONResponse:
    return error_response(503, "unavailable", f"NATS: {type(error).__name__}")


async def on_invalid_request(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(each["type"] == "json_invalid" for each in found):
        return error_response(400, "malformed_json", "the body is not JSON")
    fields = [FieldProblem(".".join(str(part) for part in each["loc"][1:]), plain(each["msg"])) for each in found]
    return error_response(422, "invalid_request", "the request is not valid", fields)


async def on_http_exception(_: Request, error: Exception) -> JSONResponse:
    """Refusals of the framework itself."""
    assert isinstance(error, HTTPException)
    message = error.detail if error.status_code == 413 else ""
    return framework_error(error.status_code, dict(error.headers or {}), message)


def framework_error(status: int, headers: dict[str, str] | None = None, message: str = "") -> JSONResponse:
    code, text = FRAMEWORK_ERRORS.get(status, ("refused", "the request is refused"))
    return error_response(status, code, message or text, headers=headers)


def handle_errors(app: FastAPI) -> None:
    app.add_exception_handler(Problem, on_problem)
    app.add_exception_handler(Transient, on_transient)
    app.add_exception_handler(NatsError, on_nats_error)
    app.add_exception_handler(RequestValidationError, on_invalid_request)
    app.add_exception_handler(HTTPException, on_http_exception)
    for outage in OUTAGES:
        app.add_exception_handler(outage, on_mongo_outage)
