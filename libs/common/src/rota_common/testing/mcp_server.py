"""An MCP server for tests: streamable HTTP on loopback, with scripted tools and a record of all calls."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rota_common.runtime import embedded_http
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.process import STEP_ID

Answer = str | types.CallToolResult
Handler = Callable[[dict[str, Any]], Awaitable[Answer]]


@dataclass(frozen=True)
class ScriptedTool:
    """`handler` takes the arguments; an exception is the tool's error. The flags are those that the server lists."""

    name: str
    handler: Handler
    idempotent: bool = False
    read_only: bool = False
    description: str = ""
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object"})

    def listed(self) -> types.Tool:
        hints = types.ToolAnnotations(idempotentHint=self.idempotent, readOnlyHint=self.read_only)
        return types.Tool(name=self.name, description=self.description, inputSchema=self.schema, annotations=hints)


@dataclass(frozen=True)
class Called:
    step_id: str
    tool: str
    arguments: dict[str, Any]


class MCPServer:
    """The server at `url`. `calls` holds every call in order; `listings` counts the requests for the list of tools."""

    def __init__(self, tools: Sequence[ScriptedTool]) -> None:
        self.tools, self.url = list(tools), ""
        self.calls: list[Called] = []
        self.listings = 0
        self.headers: list[dict[str, str]] = []
        self._more = asyncio.Condition()

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    async def received(self, count: int = 1, *, timeout: float = PATIENCE_S) -> list[Called]:
        """The calls, once there are at least `count`; TimeoutError names the number received."""
        try:
            async with self._more:
                await asyncio.wait_for(self._more.wait_for(lambda: len(self.calls) >= count), timeout)
        except TimeoutError:
            raise TimeoutError(f"expected {count} calls within {timeout} s, got {len(self.calls)}") from None
        return self.calls

    async def list(self) -> list[types.Tool]:
        self.listings += 1
        return [tool.listed() for tool in self.tools]

    async def call(self, name: str, arguments: dict[str, Any], meta: types.RequestParams.Meta | None) -> Answer:
        step_id = str((meta.model_extra or {}).get(STEP_ID, "")) if meta else ""
        async with self._more:
            self.calls.append(Called(step_id, name, arguments))
            self._more.notify_all()
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            raise ValueError(f"there is no tool {name}")
        return await tool.handler(arguments)


@contextlib.asynccontextmanager
async def mcp_server(tools: Sequence[ScriptedTool], *, port: int = 0) -> AsyncIterator[MCPServer]:
    """Serve on loopback, on a free port or on this one, so that a server can come back where it was."""
    made = MCPServer(tools)
    manager = StreamableHTTPSessionManager(_protocol(made))

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with manager.run():
            yield

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        made.url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        app = Starlette(routes=[Route("/mcp", _Endpoint(made, manager))], lifespan=lifespan)
        async with embedded_http.serve(app, listener, close_timeout=0):
            yield made


class _Endpoint:
    """An object, because Starlette takes a function for a handler of requests and not for an ASGI application."""

    def __init__(self, made: MCPServer, manager: StreamableHTTPSessionManager) -> None:
        self._made, self._manager = made, manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._made.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        await self._manager.handle_request(scope, receive, send)


def _protocol(made: MCPServer) -> Server[Any, Any]:
    server: Server[Any, Any] = Server("scripted")

    async def listed(_: types.ListToolsRequest) -> types.ServerResult:
        return types.ServerResult(types.ListToolsResult(tools=await made.list()))

    async def called(request: types.CallToolRequest) -> types.ServerResult:
        params = request.params
        try:
            answer = await made.call(params.name, params.arguments or {}, params.meta)
        except Exception as error:  # an exception of a script is the tool's error
            answer = types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], isError=True)
        if isinstance(answer, str):
            answer = types.CallToolResult(content=[types.TextContent(type="text", text=answer)])
        return types.ServerResult(answer)

    server.request_handlers[types.ListToolsRequest] = listed
    server.request_handlers[types.CallToolRequest] = called
    return server
