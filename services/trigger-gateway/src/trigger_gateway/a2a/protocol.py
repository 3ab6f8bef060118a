"""The protocol in JSON-RPC: one request, one answer or a stream of them, and nothing is kept between."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from trigger_gateway.a2a.errors import Refusal, error_of, unavailable
from trigger_gateway.a2a.party import Party
from trigger_gateway.a2a.shapes import VERSION, NamedTask, Params, SendMessage, Shape
from trigger_gateway.a2a.streams import Stream
from trigger_gateway.http.stream import AWAY
from trigger_gateway.problems import Problem, invalid

UNSUPPORTED = ("ListTasks", "GetExtendedAgentCard")
METHODS = "SendMessage, SendStreamingMessage, GetTask, SubscribeToTask or CancelTask"
PUSHES = "PushNotificationConfig"


async def answer(party: Party, given: Any, version: str) -> Shape | Stream:
    """`version`: what the client says that it speaks; empty is 0.3, as the protocol has it."""
    request_id = given.get("id") if isinstance(given, dict) else None
    if isinstance(request_id, bool) or not isinstance(request_id, str | int | None):
        request_id = None
    said: Shape = {"jsonrpc": "2.0", "id": request_id}
    try:
        result = await _result(party, given, version)
        if isinstance(result, Stream):
            return replace(result, results=_responses(said, result.results))
        return {**said, "result": result}
    except (Refusal, Problem) as error:
        return {**said, "error": error_of(error)}
    except AWAY:
        return {**said, "error": unavailable()}


async def _responses(said: Shape, results: AsyncGenerator[Shape]) -> AsyncGenerator[Shape]:
    try:
        async with aclosing(results):
            async for result in results:
                yield {**said, "result": result}
    except (Refusal, Problem) as error:
        yield {**said, "error": error_of(error)}
    except AWAY:
        yield {**said, "error": unavailable()}


async def _result(party: Party, given: Any, version: str) -> Shape | Stream:
    if not isinstance(given, dict) or given.get("jsonrpc") != "2.0" or not isinstance(given.get("method"), str):
        raise Refusal("INVALID_REQUEST", 'expected one request like {"jsonrpc": "2.0", "id": 1, "method": …}')
    if version.partition(".")[0] != VERSION.partition(".")[0]:
        text = f"expected the header A2A-Version: {VERSION}, not {version[:20] or 'none, which means 0.3'}"
        raise Refusal("VERSION_NOT_SUPPORTED", text)
    method, params = given["method"], given.get("params", {})
    if (known := _USES.get(method)) is not None:
        use, parameters = known
        return await use(party, _checked(parameters, params))
    if PUSHES in method:
        raise Refusal("PUSH_NOTIFICATION_NOT_SUPPORTED", "expected GetTask: nothing is pushed")
    if method in UNSUPPORTED:
        raise Refusal("UNSUPPORTED_OPERATION", f"{method} isn't supported: expected {METHODS}")
    raise Refusal("METHOD_NOT_FOUND", f"expected {METHODS}, not {method[:50]}")


def _checked(parameters: type[Params], given: Any) -> Params:
    try:
        return parameters.model_validate(given)
    except ValidationError as error:
        raise invalid("invalid_request", "the parameters are not valid", error) from error


_USES: Mapping[str, tuple[Callable[[Party, Any], Awaitable[Shape | Stream]], type[Params]]] = {
    "SendMessage": (Party.send, SendMessage),
    "SendStreamingMessage": (Party.stream, SendMessage),
    "GetTask": (Party.get, NamedTask),
    "SubscribeToTask": (Party.subscribe, NamedTask),
    "CancelTask": (Party.cancel, NamedTask),
}
