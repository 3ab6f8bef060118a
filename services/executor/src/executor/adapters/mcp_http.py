"""HTTP for MCP: a request that fails ends itself alone, and says whether it can have been carried out.

Left to itself, the SDK lets one failed request take the whole session with it, and waits for ever when the stream of an
answer just ends. So failures become what they are about: the JSON-RPC error of that one request.
"""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Any
from uuid import uuid4

import httpx
from mcp.types import ErrorData

from rota_common.errors import Permanent, Transient

MARK = uuid4().hex
"""Marks our own errors; servers can't know it."""

CODE = -32000
CONNECT_S = 10.0
GOODBYE_S = 2.0
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class Fault(StrEnum):
    """`gone`: the server knows nothing of our session (any more); like `unsent`, nothing has happened."""

    UNSENT = "unsent"
    GONE = "gone"
    REFUSED = "refused"
    BROKEN = "broken"


STATUSES = {400: Fault.GONE, 404: Fault.GONE, 429: Fault.UNSENT, 401: Fault.REFUSED, 403: Fault.REFUSED}
"""What these HTTP statuses mean; any other of 400 and above leaves open what has happened."""


def fault_of(error: ErrorData) -> Fault | None:
    """What went wrong on the way; None for an error that the server itself answered."""
    if isinstance(error.data, dict) and error.data.get("mark") == MARK:
        return Fault(error.data["fault"])
    return None


def http_client(
    headers: dict[str, str], guarded: httpx.AsyncBaseTransport | None = None
) -> AbstractAsyncContextManager[httpx.AsyncClient]:
    """For one session. How long an answer may take is decided for each call, not here. `guarded`: the way to an address
    that a team wrote; it raises Permanent for one that may not be connected to."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    return httpx.AsyncClient(
        transport=_Transport(guarded or httpx.AsyncHTTPTransport(limits=limits)),
        # What we add to a broken stream must be readable beside what was there.
        headers={**headers, "accept-encoding": "identity"},
        timeout=httpx.Timeout(None, connect=CONNECT_S),
    )


class _Transport(httpx.AsyncBaseTransport):
    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "DELETE":  # our goodbye: a server that hangs must not hold it up
            request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), GOODBYE_S)
        request_id = _request_id(request)
        if request_id is None:
            return await self._inner.handle_async_request(request)
        try:
            response = await self._inner.handle_async_request(request)
            return await _checked(response, request_id)
        except Permanent as error:
            return _failure(request_id, Fault.REFUSED, str(error))
        except Transient as error:
            return _failure(request_id, Fault.UNSENT, str(error))
        except NEVER_SENT as error:
            return _failure(request_id, Fault.UNSENT, f"no connection ({type(error).__name__})")
        except httpx.TransportError as error:
            return _failure(request_id, Fault.BROKEN, f"the connection broke ({type(error).__name__})")


def _request_id(request: httpx.Request) -> Any:
    """Of a JSON-RPC request that awaits an answer."""
    if request.method != "POST":
        return None
    message = json.loads(request.content)
    return message.get("id") if "method" in message else None


async def _checked(response: httpx.Response, request_id: Any) -> httpx.Response:
    """The response, if it holds an answer; one that failed in its place otherwise."""
    status = response.status_code
    if status >= 400:
        await response.aclose()
        return _failure(request_id, STATUSES.get(status, Fault.BROKEN), f"it answered with HTTP status {status}")
    if status >= 300:  # the SDK follows those that stay on the server
        return response
    if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        assert isinstance(response.stream, httpx.AsyncByteStream)
        stream = _Events(response.stream, request_id)
        return httpx.Response(status, headers=response.headers, stream=stream, extensions=response.extensions)
    content = await response.aread()
    await response.aclose()
    try:
        if not isinstance(json.loads(content), dict):
            raise ValueError("not an object")
    except ValueError:
        return _failure(request_id, Fault.BROKEN, "what it answered is not JSON")
    headers = {name: value for name, value in response.headers.items() if name.startswith("mcp-")}
    return httpx.Response(status, headers={**headers, "content-type": "application/json"}, content=content)


def _failure(request_id: Any, fault: Fault, reason: str) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "application/json"}, content=_error(request_id, fault, reason))


def _error(request_id: Any, fault: Fault, reason: str) -> bytes:
    error = {"code": CODE, "message": reason, "data": {"mark": MARK, "fault": fault}}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()


class _Events(httpx.AsyncByteStream):
    """The events of an answer. A stream that ends without an answer gets an error appended; unless the server numbers
    its events, which means that the SDK may ask for those that follow."""

    def __init__(self, stream: httpx.AsyncByteStream, request_id: Any) -> None:
        self._stream, self._request_id = stream, request_id

    async def __aiter__(self) -> AsyncIterator[bytes]:
        numbered = False
        try:
            async for chunk in self._stream:
                numbered = numbered or chunk.startswith(b"id:") or b"\nid:" in chunk
                yield chunk
        except httpx.TransportError:
            if numbered:
                raise
        if not numbered:
            error = _error(self._request_id, Fault.BROKEN, "the connection broke before the answer came")
            yield b"\n\nevent: message\ndata: " + error + b"\n\n"

    async def aclose(self) -> None:
        await self._stream.aclose()
