"""The protocol in JSON-RPC: one request, one answer, and nothing is kept between."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import ValidationError

from trigger_gateway.a2a.errors import Refusal, error_of, unavailable
from trigger_gateway.a2a.party import Party
from trigger_gateway.a2a.shapes import VERSION, NamedTask, Params, SendMessage, Shape
from trigger_gateway.http.stream import AWAY
from trigger_gateway.problems import Problem, invalid

P = TypeVar("P", bound=Params)
UNSUPPORTED = ("SendStreamingMessage", "SubscribeToTask", "ListTasks", "GetExtendedAgentCard")
PUSHES = "PushNotificationConfig"


async def answer(party: Party, given: Any, version: str) -> Shape:
    """`version`: what the client says that it speaks; empty is 0.3, as the protocol has it."""
    request_id = given.get("id") if isinstance(given, dict) else None
    if isinstance(request_id, bool) or not isinstance(request_id, str | int | None):
        request_id = None
    said: Shape = {"jsonrpc": "2.0", "id": request_id}
    try:
        return {**said, "result": await _result(party, given, version)}
    except (Refusal, Problem) as error:
        return {**said, "error": error_of(error)}
    except AWAY:
        return {**said, "error": unavailable()}


async def _result(party: Party, given: Any, version: str) -> Shape:
    if not isinstance(given, dict) or given.get("jsonrpc") != "2.0" or not isinstance(given.get("method"), str):
        raise Refusal("INVALID_REQUEST", 'expected one request like {"jsonrpc": "2.0", "id": 1, "method": …}')
    if version.partition(".")[0] != VERSION.partition(".")[0]:
        text = f"expected the header A2A-Version: {VERSION}, not {version[:20] or 'none, which means 0.3'}"
        raise Refusal("VERSION_NOT_SUPPORTED", text)
    method, params = given["method"], given.get("params", {})
    match method:
        case "SendMessage":
            return await _used(party.send, SendMessage, params)
        case "GetTask":
            return await _used(party.get, NamedTask, params)
        case "CancelTask":
            return await _used(party.cancel, NamedTask, params)
    if PUSHES in method:
        raise Refusal("PUSH_NOTIFICATION_NOT_SUPPORTED", "expected GetTask: nothing is pushed")
    if method in UNSUPPORTED:
        raise Refusal("UNSUPPORTED_OPERATION", f"{method} isn't supported: expected SendMessage, GetTask, CancelTask")
    raise Refusal("METHOD_NOT_FOUND", f"expected SendMessage, GetTask or CancelTask, not {method[:50]}")


async def _used(use: Callable[[P], Awaitable[Shape]], parameters: type[P], given: Any) -> Shape:
    try:
        wanted = parameters.model_validate(given)
    except ValidationError as error:
        raise invalid("invalid_request", "the parameters are not valid", error) from error
    return await use(wanted)
