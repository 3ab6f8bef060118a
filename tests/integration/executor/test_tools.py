"""The adapter to MCP servers, held against real ones: by streamable HTTP, and started as programs."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from mcp import types
from pydantic import AnyUrl

from executor.adapters.in_memory import InMemoryFiles
from executor.adapters.mcp_content import LIMIT
from executor.adapters.mcp_link import RETRY_S
from executor.adapters.mcp_servers import Http, Server
from executor.adapters.mcp_tools import McpTools
from executor.domain.conversation.made_files import made_by
from executor.tool_ports import NotBegun, ToolFailed
from rota_common.runtime.embedded_servers import free_port
from rota_common.testing.mcp_server import MCPServer, ScriptedTool, mcp_server
from rota_common.testing.samples import TEAM, a_robot
from rota_common.testing.team_secrets import InMemoryTeamSecrets
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.robots.robot import Robot

SECRET = "s3cret"


async def echo(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments)


ECHO = ScriptedTool("echo", echo, read_only=True, description="Says it again.")


class Gate:
    """A tool that answers when it is let."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def __call__(self, arguments: dict[str, Any]) -> str:
        await self.open.wait()
        return "through"


def use(tool: str, arguments: Any = None, *, server: str = "web", step_id: str = "step-1") -> ToolUse:
    return ToolUse(step_id=step_id, name=f"{server}__{tool}", server=server, tool=tool, arguments=arguments or {})


def robot(**tools: list[str]) -> Robot:
    """One that may use these servers, by id."""
    return a_robot(config={"resources": {"mcp": [{"id": name, "tools": allowed} for name, allowed in tools.items()]}})


def at(server: MCPServer | str, server_id: str = "web", **options: Any) -> Server:
    url = server if isinstance(server, str) else server.url
    return Server(server_id, "Web", Http(url, {"authorization": f"Bearer {SECRET}"}), **options)


@asynccontextmanager
async def tools_of(*servers: Server, **options: Any) -> AsyncIterator[McpTools]:
    given: dict[str, Any] = {"secrets": InMemoryTeamSecrets(), "files": InMemoryFiles()}
    tools = McpTools({server.id: server for server in servers}, **given | options)
    try:
        yield tools
    finally:
        await tools.close()


async def failure(tools: McpTools, what: ToolUse, kind: type[Exception] = ToolFailed, **options: Any) -> str:
    with pytest.raises(kind) as raised:
        await tools.call(what, team=TEAM, **options)
    assert type(raised.value) is kind
    return str(raised.value)


async def test_a_robot_is_offered_the_tools_of_its_servers_and_no_others() -> None:  # EX-26
    async with AsyncExitStack() as stack:
        script = [ECHO, ScriptedTool("send", echo)]
        servers = [at(await stack.enter_async_context(mcp_server(script)), name) for name in ("a", "b", "c")]
        tools = await stack.enter_async_context(tools_of(*servers))
        listed = await tools.list(robot(a=["send", "gone"], b=[], elsewhere=[]))
    assert [(tool.name, tool.server, tool.tool) for tool in listed] == [
        ("a__send", "a", "send"),
        ("b__echo", "b", "echo"),
        ("b__send", "b", "send"),
    ]
    assert (listed[1].description, listed[1].parameters) == ("Says it again.", {"type": "object"})


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (None, {"echo": True, "repeat": True, "send": False}),
        (True, {"echo": True, "repeat": True, "send": True}),
        (False, {"echo": False, "repeat": False, "send": False}),
        (frozenset({"send"}), {"echo": True, "repeat": True, "send": True}),
    ],
)
async def test_a_tool_is_idempotent_if_the_server_or_the_operator_says_so(
    declared: Any, expected: dict[str, bool]
) -> None:
    script = [ECHO, ScriptedTool("repeat", echo, idempotent=True), ScriptedTool("send", echo)]
    async with mcp_server(script) as server, tools_of(at(server, idempotent=declared)) as tools:
        assert {tool.tool: tool.idempotent for tool in await tools.list(robot(web=[]))} == expected


async def test_tools_are_listed_again_after_five_minutes() -> None:
    now = [0.0]
    async with mcp_server([ECHO]) as server, tools_of(at(server), monotonic=lambda: now[0]) as tools:
        await asyncio.gather(*(tools.list(robot(web=[])) for _ in range(5)))
        now[0] = 299.0
        await tools.list(robot(web=[]))
        assert server.listings == 1
        server.tools.append(ScriptedTool("new", echo))
        now[0] = 300.0
        assert [tool.tool for tool in await tools.list(robot(web=[]))] == ["echo", "new"]


async def test_a_call_carries_its_step_id_and_the_headers_of_the_file() -> None:
    async with mcp_server([ECHO]) as server, tools_of(at(server)) as tools:
        assert await tools.call(use("echo", {"a": [1, "ä"]}, step_id="step-7"), team=TEAM) == '{"a": [1, "\\u00e4"]}'
        (called,) = server.calls
        assert (called.step_id, called.tool, called.arguments) == ("step-7", "echo", {"a": [1, "ä"]})
        assert {headers.get("authorization") for headers in server.headers} == {f"Bearer {SECRET}"}


ANSWERS = {
    "mixed": types.CallToolResult(
        content=[
            types.TextContent(type="text", text="Here:"),
            types.ImageContent(type="image", data="aGVsbG8=", mimeType="image/png"),
            types.EmbeddedResource(
                type="resource",
                resource=types.BlobResourceContents(
                    uri=AnyUrl("file:///reports/q3.pdf"), mimeType="application/pdf", blob="cGFwZXI="
                ),
            ),
            types.ImageContent(type="image", data="aGVsb", mimeType="no type"),
            types.ResourceLink(type="resource_link", name="more", uri=AnyUrl("https://example.com/more")),
        ],
        structuredContent={"not": "shown beside a text"},
    ),
    "data": types.CallToolResult(content=[], structuredContent={"n": 1}),
    "long": types.CallToolResult(content=[types.TextContent(type="text", text="x" * (LIMIT + 5))]),
}


async def test_what_is_not_text_is_described_and_kept_as_a_file_of_the_team() -> None:  # EX-92
    async def answer(arguments: dict[str, Any]) -> types.CallToolResult:
        return ANSWERS[arguments["what"]]

    files = InMemoryFiles()
    async with mcp_server([ScriptedTool("get", answer)]) as server, tools_of(at(server), files=files) as tools:
        mixed, data, long = [await tools.call(use("get", {"what": what}), team=TEAM) for what in ANSWERS]
    kept = [(stored.team_id, stored.name, stored.content_type) for stored in files.stored.values()]
    assert kept == [(TEAM, "image-2.png", "image/png"), (TEAM, "q3.pdf", "application/pdf")]
    assert [*files.contents.values()] == [b"hello", b"paper"]
    picture, paper = (stored.file for stored in files.stored.values())
    assert mixed.splitlines() == [
        "Here:",
        f"[file image-2.png, image/png, 5 bytes: {picture}]",
        f"[file q3.pdf, application/pdf, 5 bytes: {paper}]",
        "[file image-4.bin, application/octet-stream, 3 bytes; not kept: its data isn't base64]",
        "[link to more: https://example.com/more]",
    ]
    made = made_by(use("get").step_id, mixed)
    assert [(each.file, each.name) for each in made] == [(picture, "image-2.png"), (paper, "q3.pdf")]
    assert json.loads(data) == {"n": 1}
    assert long.endswith(f"xx\n[cut: {LIMIT + 5} bytes, of which {LIMIT} are kept]")


async def test_the_tools_own_error_is_the_reason() -> None:
    async def fail(arguments: dict[str, Any]) -> str:
        raise ValueError("no such account")

    async with mcp_server([ScriptedTool("fail", fail), ECHO]) as server, tools_of(at(server)) as tools:
        assert await failure(tools, use("fail")) == "no such account"
        assert await failure(tools, use("nothing")) == "there is no tool nothing"
        assert await failure(tools, use("echo", [1])) == "expected an object as arguments of echo, got list"


async def test_a_server_that_is_not_set_up_or_lacks_a_secret_says_so_when_it_is_used() -> None:
    async with tools_of(at("http://127.0.0.1:9/mcp", problem="the variable TOKEN is not set")) as tools:
        assert "add other.yaml to the folder of ROTA_MCP_DIR" in await failure(tools, use("x", server="other"))
        expected = "MCP server web can't be used: the variable TOKEN is not set"
        assert await failure(tools, use("x")) == expected
        assert await tools.list(robot(web=[], other=[])) == []
        assert tools.problems(robot(web=[], other=[])) == [
            "MCP server other isn't set up here, so there are no tools of it",
            f"its tools are left out: {expected}",
        ]


async def test_a_call_without_an_answer_in_time_ends_with_its_outcome_unknown() -> None:
    gate = Gate()
    async with mcp_server([ScriptedTool("wait", gate), ECHO]) as server, tools_of(at(server, timeout=0.3)) as tools:
        assert await failure(tools, use("wait")) == "no answer within 0.3 s: outcome unknown"
        assert await failure(tools, use("wait"), timeout=0.2) == "no answer within 0.2 s: outcome unknown"
        assert await tools.call(use("echo"), team=TEAM) == "{}"
        assert len({headers.get("mcp-session-id") for headers in server.headers} - {None}) == 1  # the same session


async def test_calls_of_one_session_run_beside_each_other() -> None:
    gate = Gate()
    async with mcp_server([ScriptedTool("wait", gate), ECHO]) as server, tools_of(at(server)) as tools:
        waiting = [asyncio.create_task(tools.call(use("wait", step_id=f"step-{n}"), team=TEAM)) for n in range(150)]
        await server.received(150)
        assert await tools.call(use("echo", {"a": 1}), team=TEAM) == '{"a": 1}'
        gate.open.set()
        assert await asyncio.gather(*waiting) == ["through"] * 150
        assert {called.step_id for called in server.calls if called.tool == "wait"} == {f"step-{n}" for n in range(150)}


async def test_a_cancelled_call_takes_no_other_with_it() -> None:
    gate = Gate()
    async with mcp_server([ScriptedTool("wait", gate)]) as server, tools_of(at(server)) as tools:
        first, second = (asyncio.create_task(tools.call(use("wait"), team=TEAM)) for _ in range(2))
        await server.received(2)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        gate.open.set()
        assert await second == "through"


async def test_a_caller_that_gives_up_while_the_session_opens_leaves_it_to_the_others() -> None:
    async with mcp_server([ECHO]) as server, tools_of(at(server)) as tools:
        await tools.list(robot())
        first, second = (asyncio.create_task(tools.call(use("echo"), team=TEAM)) for _ in range(2))
        while not server.headers:
            await asyncio.sleep(0)
        first.cancel()
        assert await second == "{}"
        with pytest.raises(asyncio.CancelledError):
            await first


async def test_a_server_that_is_away_is_named_without_its_address() -> None:
    async with tools_of(at(f"http://127.0.0.1:9/mcp?key={SECRET}")) as tools:
        expected = "MCP server web can't be reached: no connection (ConnectError)"
        assert await failure(tools, use("echo"), NotBegun) == expected
        assert await tools.list(robot(web=[])) == []
        assert tools.problems(robot(web=[])) == [f"its tools are left out: {expected}"]


async def test_a_server_that_is_away_takes_the_tools_of_no_other_and_is_found_again() -> None:  # EX-26
    port, now = free_port(), [0.0]
    async with mcp_server([ECHO]) as server:
        servers = {"web": at(server), "away": at(f"http://127.0.0.1:{port}/mcp", server_id="away")}
        tools = McpTools(servers, secrets=InMemoryTeamSecrets(), files=InMemoryFiles(), monotonic=lambda: now[0])
        both = robot(web=[], away=[])
        assert [tool.tool for tool in await tools.list(both)] == ["echo"]
        assert len(tools.problems(both)) == 1
        async with mcp_server([ECHO], port=port):
            assert [tool.server for tool in await tools.list(both)] == ["web"], "no turn waits for it again and again"
            now[0] = RETRY_S
            assert [tool.server for tool in await tools.list(both)] == ["away", "web"]
            assert tools.problems(both) == []
            await tools.close()


async def test_a_server_that_went_and_came_back_is_found_again() -> None:
    async with tools_of(at("http://127.0.0.1:9/mcp")) as nowhere:
        await failure(nowhere, use("echo"), NotBegun)
    async with mcp_server([ECHO]) as server:
        tools = McpTools({"web": at(server)}, secrets=InMemoryTeamSecrets(), files=InMemoryFiles())
        await tools.call(use("echo"), team=TEAM)
    assert "no connection" in await failure(tools, use("echo"), NotBegun)
    async with mcp_server([ECHO], port=server.port) as back:
        assert await tools.call(use("echo", {"again": True}, step_id="step-2"), team=TEAM) == '{"again": true}'
        assert [called.step_id for called in back.calls] == ["step-2"]
        await tools.close()


async def test_teams_share_no_session_unless_the_server_is_stateless() -> None:
    async with mcp_server([ECHO]) as server:
        secrets = InMemoryTeamSecrets({"acme": {"TOKEN": "a"}, "globex": {"TOKEN": "g"}})
        personal = Server("web", "Web", Http(server.url, {"authorization": "$SECRET.TOKEN"}))
        shared = Server("free", "Free", Http(server.url), stateless=True)
        async with tools_of(personal, shared, secrets=secrets) as tools:
            for team in ("acme", "globex", "acme"):
                await tools.call(use("echo"), team=team)
                await tools.call(use("echo", server="free"), team=team)
            assert sorted(tools._links._links) == [("free", ""), ("web", "acme"), ("web", "globex")]
        assert {each.get("authorization") for each in server.headers} == {"a", "g", None}
