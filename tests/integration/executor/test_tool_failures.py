"""MCP servers that break, hang, refuse or die: calls that certainly didn't begin, and calls with an unknown outcome."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from executor.adapters import mcp_session
from executor.adapters.mcp_servers import Server, Stdio
from executor.tool_ports import NotBegun, ToolFailed
from rota_common.runtime import embedded_http
from rota_common.testing.mcp_server import ScriptedTool, mcp_server
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import TEAM
from tests.integration.executor.test_tools import ECHO, Gate, at, failure, robot, tools_of, use

PROGRAM = """
import json, os, sys, time

def answer(method, params):
    if method == "initialize":
        serving = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
        return {**serving, "serverInfo": {"name": "script", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "pid", "inputSchema": {"type": "object"}}]}
    if method == "ping":
        return {}
    name = params["name"]
    if name == "die":
        os._exit(1)
    if name == "hang":
        time.sleep(600)
    text = {"pid": str(os.getpid()), "env": json.dumps(dict(os.environ)), "step": params["_meta"]["rota.v1/step_id"]}
    return {"content": [{"type": "text", "text": text[name]}]}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params"))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> Server:
    (tmp_path / "server.py").write_text(PROGRAM)
    return Server("script", "Script", Stdio(sys.executable, (str(tmp_path / "server.py"),), {"MY_TOKEN": "given"}))


def ask(tool: str, step_id: str = "step-1") -> Any:
    return use(tool, server="script", step_id=step_id)


class Faulty:
    """An MCP server whose answers to calls of tools are a test's own."""

    def __init__(self) -> None:
        self.url, self.calls = "", 0
        self.answers = list[Response]()

    async def __call__(self, request: Request) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        match message["method"]:
            case "initialize":
                serving = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}}
                return _result(message, {**serving, "serverInfo": {"name": "faulty", "version": "1"}})
            case "tools/call":
                self.calls += 1
                return self.answers.pop(0) if self.answers else _result(message, {"content": []})
            case _:
                return Response(status_code=202)


def _result(message: dict[str, Any], result: dict[str, Any]) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result}, headers={"mcp-session-id": "s"})


@asynccontextmanager
async def faulty(*answers: Response) -> AsyncIterator[Faulty]:
    made = Faulty()
    made.answers = list(answers)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        made.url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        app = Starlette(routes=[Route("/mcp", made.__call__, methods=["GET", "POST", "DELETE"])])
        async with embedded_http.serve(app, listener, lifespan="off", close_timeout=0):
            yield made


async def events(*texts: str, then: Exception | None = None) -> AsyncIterator[str]:
    for text in texts:
        yield text
    if then is not None:
        raise then


def stream(*texts: str, then: Exception | None = None, media_type: str = "text/event-stream") -> Response:
    return StreamingResponse(events(*texts, then=then), media_type=media_type)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda: stream(": nothing yet\n\n"), "the connection broke before the answer came"),
        (lambda: stream(": x\n\n", then=OSError("torn")), "the connection broke before the answer came"),
        (lambda: stream('{"jsonrpc"', then=OSError("torn"), media_type="application/json"), "the connection broke (R"),
        (lambda: Response("<h1>Welcome!</h1>", media_type="text/html"), "what it answered is not JSON"),
        (lambda: Response(status_code=500), "it answered with HTTP status 500"),
        (lambda: Response(status_code=503), "it answered with HTTP status 503"),
    ],
    ids=["no answer", "torn events", "torn JSON", "HTML", "500", "503"],
)
async def test_a_call_that_broke_on_the_way_may_have_happened(answer: Any, reason: str) -> None:
    async with faulty(answer()) as server, tools_of(at(server.url)) as tools:
        said = await failure(tools, use("x"), timeout=10)
        assert said.startswith(reason)
        assert said.endswith(": outcome unknown")
        assert (await tools.call(use("x"), team=TEAM), server.calls) == ("", 2)


async def test_a_refused_call_says_so() -> None:
    async with faulty(Response(status_code=401)) as server, tools_of(at(server.url)) as tools:
        assert await failure(tools, use("x")) == "it answered with HTTP status 401"


async def test_too_many_requests_are_not_begun() -> None:
    async with faulty(Response(status_code=429)) as server, tools_of(at(server.url)) as tools:
        assert "429" in await failure(tools, use("x"), NotBegun)
        assert server.calls == 1


@pytest.mark.parametrize("status", [400, 404])
async def test_a_session_unknown_to_the_server_is_opened_again(status: int) -> None:
    async with faulty() as server, tools_of(at(server.url)) as tools:
        assert await tools.call(use("x"), team=TEAM) == ""
        server.answers = [Response(status_code=status)]
        assert (await tools.call(use("x"), team=TEAM), server.calls) == ("", 3)
        server.answers = [Response(status_code=status)] * 2
        await failure(tools, use("x"), NotBegun)


async def test_one_call_that_breaks_takes_no_other_with_it() -> None:
    gate = Gate()

    async def slow() -> AsyncIterator[bytes]:
        await gate.open.wait()
        result = {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "late"}]}}
        yield b"event: message\ndata: " + json.dumps(result).encode() + b"\n\n"

    held = StreamingResponse(slow(), media_type="text/event-stream")
    async with faulty() as server, tools_of(at(server.url)) as tools:
        await tools.call(use("x"), team=TEAM)
        server.answers = [held, Response(status_code=500)]
        waiting = asyncio.create_task(tools.call(use("x"), team=TEAM))
        while server.calls < 2:
            await asyncio.sleep(0)
        await failure(tools, use("x"))
        gate.open.set()
        assert await waiting == "late"


async def test_a_server_that_dies_in_a_call_leaves_its_outcome_unknown() -> None:
    async with AsyncExitStack() as life:
        server = await life.enter_async_context(mcp_server([ScriptedTool("wait", Gate())]))
        async with tools_of(at(server)) as tools:
            calls = [asyncio.create_task(failure(tools, use("wait"), timeout=60)) for _ in range(3)]
            await server.received(3)
            await life.aclose()
            async with asyncio.timeout(PATIENCE_S):
                assert all(said.endswith("outcome unknown") for said in await asyncio.gather(*calls))


async def test_a_real_server_is_listed_and_called_as_a_program() -> None:
    clock = Server("time", "Time", Stdio(sys.executable, ("-m", "mcp_server_time", "--local-timezone", "UTC")))
    async with tools_of(clock) as tools:
        listed = await tools.list(robot(time=[]))
        assert [tool.name for tool in listed] == ["time__convert_time", "time__get_current_time"]
        assert "timezone" in listed[1].parameters["properties"]
        zone = {"timezone": "Asia/Shanghai"}
        answer = await tools.call(use("get_current_time", zone, server="time"), team=TEAM)
        assert json.loads(answer)["timezone"] == "Asia/Shanghai"
        assert "timezone" in await failure(tools, use("get_current_time", {"timezone": "Mars/Base"}, server="time"))


async def test_a_program_gets_the_step_id_and_of_our_environment_only_what_its_file_says(
    program: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    async with tools_of(program) as tools:
        assert await tools.call(ask("step", "step-9"), team=TEAM) == "step-9"
        environ = json.loads(await tools.call(ask("env"), team=TEAM))
    assert environ["MY_TOKEN"] == "given"
    assert "OPENAI_API_KEY" not in environ


async def test_a_program_that_died_in_a_call_is_started_again_for_the_next(program: Server) -> None:
    async with tools_of(program) as tools:
        first = await tools.call(ask("pid"), team=TEAM)
        assert (await failure(tools, ask("die"))).endswith("outcome unknown")
        assert await tools.call(ask("pid"), team=TEAM) != first


async def test_a_program_that_was_killed_between_calls_is_started_again(program: Server) -> None:
    async with tools_of(program) as tools:
        first = int(await tools.call(ask("pid"), team=TEAM))
        os.kill(first, signal.SIGKILL)
        with contextlib.suppress(ToolFailed):  # its end may not be noticed before this call is written
            await tools.call(ask("pid"), team=TEAM)
        assert int(await tools.call(ask("pid"), team=TEAM)) != first


async def test_a_program_that_hangs_is_replaced_and_holds_up_no_other_call(
    program: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_session, "PING_S", 0.2)
    async with mcp_server([ECHO]) as server, tools_of(program, at(server)) as tools:
        first = await tools.call(ask("pid"), team=TEAM)
        hanging = asyncio.create_task(failure(tools, ask("hang"), timeout=0.5))
        assert await tools.call(use("echo"), team=TEAM) == "{}"
        assert await hanging == "no answer within 0.5 s: outcome unknown"
        assert await tools.call(ask("pid"), team=TEAM) != first


async def test_a_program_that_is_not_there_or_ends_at_once_is_a_call_not_begun() -> None:
    async with tools_of(Server("script", "", Stdio("no-such-program"))) as tools:
        said = await failure(tools, ask("x"), NotBegun)
        assert said == "MCP server script can't be reached: No such file or directory"
    async with tools_of(Server("script", "", Stdio(sys.executable, ("-c", "")))) as tools:
        assert await failure(tools, ask("x"), NotBegun) == "MCP server script can't be reached: Connection closed"


async def test_a_program_that_never_greets_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_session, "OPEN_S", 0.3)
    silent = Stdio(sys.executable, ("-c", "import sys; sys.stdin.read()"))
    async with tools_of(Server("script", "", silent)) as tools:
        assert "no answer within 0.3 s" in await failure(tools, ask("x"), NotBegun)
