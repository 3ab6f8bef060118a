"""An open session with an MCP server, by the official SDK. Heavy to import: `mcp_tools` does so at the first use."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar, assert_never

import anyio
import httpx
from mcp import types
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError
from pydantic import ValidationError

from executor.adapters.mcp_content import ERROR_LIMIT, bounded, error_of
from executor.adapters.mcp_http import Fault, fault_of, http_client
from executor.adapters.mcp_servers import Http, Server, Stdio
from executor.tool_ports import NotBegun, ToolFailed
from rota_contracts.messages.process import STEP_ID

T = TypeVar("T")

OPEN_S = 20.0
PING_S = 3.0
MAX_TOOLS = 1000
CLOSED = (types.CONNECTION_CLOSED, "Connection closed")
"""How the SDK answers what was under way when the other side went away; servers use the code for other things, too."""

US = types.Implementation(name="rota", version="1")
logging.getLogger("mcp").setLevel(logging.CRITICAL)  # its tracebacks name addresses, which may hold secrets


class Session:
    """Lives in a task of its own, because the SDK's contexts must be left by the task that entered them.

    So a caller that stops waiting gives up its own call only.
    """

    def __init__(self, server: Server, guard: Callable[[], httpx.AsyncBaseTransport]) -> None:
        self._server, self._guard = server, guard
        self._client: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._calls = 0
        self._retired, self._late = False, False
        self._task = asyncio.create_task(self._live(), name=f"mcp {server.id}")
        self._task.add_done_callback(_seen)

    async def _live(self) -> None:
        async with AsyncExitStack() as stack:
            read, write = await stack.enter_async_context(_connected(self._server, self._guard))
            client = await stack.enter_async_context(ClientSession(read, write, client_info=US))
            await client.initialize()
            self._client.set_result(client)
            await self._leave.wait()

    @property
    def over(self) -> bool:
        """No more calls: a new session is needed."""
        return self._retired or self._task.done()

    @property
    def closed(self) -> bool:
        return self._task.done()

    def retire(self) -> None:
        """Take no new calls; let those that are under way finish, then close."""
        self._retired = True
        if self._calls == 0:
            self._leave.set()

    async def close(self, timeout: float) -> None:
        """Close now; whatever doesn't end in time is left to be cancelled."""
        self._retired = True
        self._leave.set()
        for _ in range(2):
            await asyncio.wait({self._task}, timeout=timeout)
            self._task.cancel()

    async def answers(self) -> bool:
        """Is it fit for another call? One that left a call without an answer must show that it is alive."""
        if self._late and not self.over:
            try:
                await self._while_open((await self._opened()).send_ping(), PING_S)
                self._late = False
            except McpError as error:  # even a server that doesn't know pings is alive when it says so
                self._late = False
                if self._judge(error) is not None:
                    self.retire()
            except (TimeoutError, NotBegun, _Ended, anyio.ClosedResourceError, anyio.BrokenResourceError):
                self.retire()
        return not self.over

    async def tools(self, timeout: float) -> list[types.Tool]:
        """All its tools, at most a thousand. Raises NotBegun."""
        client = await self._opened()
        capabilities = client.get_server_capabilities()
        if capabilities is None or capabilities.tools is None:
            return []
        try:
            return await self._while_open(_all_tools(client), timeout)
        except TimeoutError:
            self._late = True
            raise NotBegun(f"MCP server {self._server.id} didn't list its tools within {timeout:g} s") from None
        except McpError as error:
            self._judge(error)
            raise NotBegun(f"MCP server {self._server.id} didn't list its tools: {error}") from error
        except (_Ended, ValidationError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            self.retire()
            raise NotBegun(f"MCP server {self._server.id} didn't list its tools: {type(error).__name__}") from error

    async def call(self, tool: str, arguments: dict[str, Any], step_id: str, timeout: float) -> types.CallToolResult:
        """Raises NotBegun or ToolFailed."""
        client = await self._opened()
        params = types.CallToolRequestParams(
            name=tool, arguments=arguments, _meta=types.RequestParams.Meta.model_validate({STEP_ID: step_id})
        )
        request = types.ClientRequest(types.CallToolRequest(params=params))
        try:  # not `client.call_tool`: it asks for schemas after the call, and fails a call that was made if it can't
            result = await self._while_open(client.send_request(request, types.CallToolResult), timeout)
        except TimeoutError:
            self._late = True
            raise ToolFailed(f"no answer within {timeout:g} s: outcome unknown") from None
        except _Ended:
            raise ToolFailed("the connection broke before the answer came: outcome unknown") from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            self.retire()
            raise NotBegun(f"MCP server {self._server.id} has closed the connection") from error
        except McpError as error:
            raise self._failure(error) from error
        except ValidationError as error:
            raise ToolFailed("what it answered is not the result of a tool: outcome unknown") from error
        if result.isError:
            raise ToolFailed(error_of(result))
        return result

    def _failure(self, error: McpError) -> NotBegun | ToolFailed:
        match self._judge(error):
            case Fault.UNSENT | Fault.GONE:
                return NotBegun(f"MCP server {self._server.id} can't be reached: {error}")
            case Fault.BROKEN:
                return ToolFailed(f"{error}: outcome unknown")
            case Fault.REFUSED | None:
                return ToolFailed(bounded(str(error), ERROR_LIMIT))
            case never:
                assert_never(never)

    def _judge(self, error: McpError) -> Fault | None:
        """What went wrong on the way, and whether this session can go on after it."""
        fault = fault_of(error.error)
        if (error.error.code, error.error.message) == CLOSED:
            self.retire()
            return Fault.BROKEN
        if fault is Fault.GONE:
            self.retire()
        return fault

    async def _opened(self) -> ClientSession:
        """Raises NotBegun."""
        ends: set[asyncio.Future[Any]] = {self._client, self._task}
        await asyncio.wait(ends, timeout=OPEN_S, return_when=asyncio.FIRST_COMPLETED)
        if self._client.done() and not self._task.done():
            return self._client.result()
        reason = f"no answer within {OPEN_S:g} s" if not self._task.done() else _reason(self._task)
        self._task.cancel()
        raise NotBegun(f"MCP server {self._server.id} can't be reached: {reason}")

    async def _while_open(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        """What `work` returns; TimeoutError, or _Ended if the session ended before it did."""
        self._calls += 1
        task = asyncio.create_task(work)
        task.add_done_callback(_seen)
        try:
            await asyncio.wait({task, self._task}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise _Ended if self._task.done() else TimeoutError
        finally:
            task.cancel()
            self._calls -= 1
            if self._retired and self._calls == 0:
                self._leave.set()


class _Ended(Exception):
    """The session ended before the answer."""


@asynccontextmanager
async def _connected(server: Server, guard: Callable[[], httpx.AsyncBaseTransport]) -> AsyncIterator[tuple[Any, Any]]:
    """The two streams of a transport."""
    match server.transport:
        case Stdio(command, args, env):
            # Besides `env` it gets PATH, HOME and the like of ours, and nothing else: our environment holds our keys.
            parameters = StdioServerParameters(command=command, args=list(args), env=dict(env))
            async with stdio_client(parameters, errlog=sys.__stderr__ or sys.stderr) as (read, write):
                yield read, write
        case Http(url, headers, guarded):
            async with (
                http_client(dict(headers), guard() if guarded else None) as client,
                streamable_http_client(url, http_client=client) as (read, write, _),
            ):
                yield read, write
        case never:
            assert_never(never)


async def _all_tools(client: ClientSession) -> list[types.Tool]:
    found: list[types.Tool] = []
    cursor: str | None = None
    while len(found) < MAX_TOOLS:
        page = await client.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        found += page.tools
        cursor = page.nextCursor
        if not cursor or not page.tools:
            break
    return found[:MAX_TOOLS]


def _seen(task: asyncio.Task[Any]) -> None:
    """Retrieve its exception: callers that wait have it, and without callers it doesn't matter."""
    if not task.cancelled():
        task.exception()


def _reason(task: asyncio.Task[None]) -> str:
    """Why a session ended, without addresses, which may hold secrets."""
    error: BaseException | None = asyncio.CancelledError() if task.cancelled() else task.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case McpError():
            return str(error)
        case OSError(strerror=str(text)):
            return text
        case anyio.BrokenResourceError() | anyio.ClosedResourceError():  # it was gone before our first message
            return CLOSED[1]
        case None:
            return "the session was closed"
        case _:
            return type(error).__name__
