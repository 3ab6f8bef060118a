"""The protocol, by its official SDK. Each request is served by itself: any replica can, and nothing is kept between."""

from functools import partial
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import StreamableHTTPServerTransport
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from rota_contracts import version
from trigger_gateway.http.auditing import Recording
from trigger_gateway.http.stream import AWAY
from trigger_gateway.mcp.team_tools import TeamTools
from trigger_gateway.mcp.tool import Outcome, Tool
from trigger_gateway.problems import Problem
from trigger_gateway.runs.follow_execution import Progress

INSTRUCTIONS = (
    "Ask the team's agents (ask_…), give its robots work (run_…), and follow what comes of it by execution_id."
)


async def serve(tools: TeamTools, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one HTTP request: as events to a client that takes them, which then gets progress, too; else as JSON."""
    server = server_of(tools, request)
    as_json = "text/event-stream" not in request.headers.get("accept", "")
    transport = StreamableHTTPServerTransport(mcp_session_id=None, is_json_response_enabled=as_json)
    async with anyio.create_task_group() as group, transport.connect() as (read, write):
        options = server.create_initialization_options()
        group.start_soon(partial(server.run, read, write, options, stateless=True))
        try:
            await transport.handle_request(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await transport.terminate()
            group.cancel_scope.cancel()


def server_of(tools: TeamTools, request: Request) -> "Server[Any, Any]":
    """Its handlers are set as they are: the SDK's decorators keep tools by name, for all teams together."""
    server: Server[Any, Any] = Server("rota", version=version.VERSION, instructions=INSTRUCTIONS)

    async def list_tools(_: types.ListToolsRequest) -> types.ServerResult:
        try:
            offered = await tools.offered()
        except AWAY as error:
            raise RuntimeError("the team's tools can't be listed now: try again") from error
        return types.ServerResult(types.ListToolsResult(tools=[_described(tool) for tool in offered]))

    async def call_tool(call: types.CallToolRequest) -> types.ServerResult:
        try:
            tool = await tools.find(call.params.name)
            outcome = await _used(tool, call.params.arguments, _progress(server), request)
        except Problem as problem:
            fields = "".join(f"\n{each.field}: {each.message}" for each in problem.fields)
            return _result(f"{problem.message}{fields}", None)
        except AWAY:
            return _result("a part of Rota is unavailable: try again", None)
        return _result(outcome.text, outcome)

    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    return server


async def _used(tool: Tool[Any], arguments: Any, progress: Progress, request: Request) -> Outcome:
    """What changes something is recorded as the same change over HTTP is."""
    if not tool.changes:
        return await tool(arguments, progress)
    request.state.given = arguments
    async with Recording(request, tool.route) as recording:
        outcome = await tool(arguments, progress)
        recording.succeeded(outcome.data)
    return outcome


def _progress(server: "Server[Any, Any]") -> Progress:
    """Reports to a client that asked for it, counted from 1."""
    context = server.request_context
    token = context.meta.progressToken if context.meta else None
    count = 0

    async def report(text: str) -> None:
        nonlocal count
        if token is not None:
            count += 1
            await context.session.send_progress_notification(
                token, count, message=text, related_request_id=str(context.request_id)
            )

    return report


def _described(tool: Tool[Any]) -> types.Tool:
    hints = types.ToolAnnotations(readOnlyHint=tool.route == "read_execution", destructiveHint=tool.changes)
    return types.Tool(
        name=tool.name,
        description=tool.description,
        inputSchema=tool.parameters.model_json_schema(),
        annotations=hints,
    )


def _result(text: str, outcome: Outcome | None) -> types.ServerResult:
    shown = types.TextContent(type="text", text=text)
    data = outcome.data if outcome else None
    return types.ServerResult(types.CallToolResult(content=[shown], structuredContent=data, isError=outcome is None))
