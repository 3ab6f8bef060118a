"""Errors of the protocol: their codes in JSON-RPC, their reasons, and what of the gateway's problems becomes which."""

from collections.abc import Sequence

from trigger_gateway import problems
from trigger_gateway.a2a.shapes import Shape
from trigger_gateway.problems import FieldProblem, Problem

DOMAIN = "a2a-protocol.org"
INFO, BAD_REQUEST = "type.googleapis.com/google.rpc.ErrorInfo", "type.googleapis.com/google.rpc.BadRequest"

CODES = {
    "INVALID_REQUEST": -32600,
    "METHOD_NOT_FOUND": -32601,
    "INVALID_PARAMS": -32602,
    "INTERNAL_ERROR": -32603,
    "TASK_NOT_FOUND": -32001,
    "TASK_NOT_CANCELABLE": -32002,
    "PUSH_NOTIFICATION_NOT_SUPPORTED": -32003,
    "UNSUPPORTED_OPERATION": -32004,
    "CONTENT_TYPE_NOT_SUPPORTED": -32005,
    "VERSION_NOT_SUPPORTED": -32009,
}
REFUSED = -32000
"""What the protocol has no code for; the reason is the code of the problem."""


class Refusal(Exception):
    """An error that the protocol names. `reason` is one of CODES."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def error_of(error: Refusal | Problem) -> Shape:
    """The `error` of an answer."""
    if isinstance(error, Refusal):
        return _error(CODES[error.reason], error.reason, str(error))
    match error:
        case problems.NotFound(code="execution_not_found"):
            return _error(CODES["TASK_NOT_FOUND"], "TASK_NOT_FOUND", error.message)
        case problems.Invalid() | problems.Malformed() | problems.TooLarge():
            return _error(CODES["INVALID_PARAMS"], "INVALID_PARAMS", error.message, error.fields)
        case problems.Failed():
            return _error(CODES["INTERNAL_ERROR"], error.code.upper(), error.message)
        case _:
            return _error(REFUSED, error.code.upper(), error.message, error.fields)


def unavailable() -> Shape:
    return _error(CODES["INTERNAL_ERROR"], "UNAVAILABLE", "a part of Rota is unavailable: try again")


def _error(code: int, reason: str, message: str, fields: Sequence[FieldProblem] = ()) -> Shape:
    details: list[Shape] = [{"@type": INFO, "reason": reason, "domain": DOMAIN}]
    if fields:
        violations = [{"field": each.field, "description": each.message} for each in fields]
        details.append({"@type": BAD_REQUEST, "fieldViolations": [*violations]})
        message = "\n".join([message, *(f"{each.field}: {each.message}" for each in fields)])
    return {"code": code, "message": message, "data": [*details]}
