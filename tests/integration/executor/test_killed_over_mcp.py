"""A run with ten tools of real MCP servers, killed before and after each of its effects: by the servers' own logs."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from services.executor.tests.fixtures import new_run
from services.executor.tests.harness import calls
from services.executor.tests.killed_processes import live
from services.executor.tests.killed_world import Cut, Shape, World, uses_of
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from executor.adapters.in_memory import InMemoryFiles
from executor.adapters.mcp_servers import Http, Server, Stdio
from executor.adapters.mcp_tools import McpTools
from rota.server.http import listening, serving
from rota_common.testing.samples import TEAM, a_robot
from rota_common.testing.team_secrets import InMemoryTeamSecrets
from rota_contracts.messages.conversation import ToolStatus, ToolUse
from rota_contracts.messages.execution import ExecStatus
from tests.integration.executor.counting_server import READS, WRITES

TEN = a_robot(
    config={"resources": {"agents": ["experts.writer"], "mcp": [{"id": "ledger"}, {"id": "time"}, {"id": "fetch"}]}}
)
PLAN = json.dumps({"tasks": [{"id": "a", "description": "Do it", "executor_id": "experts.writer"}]})
GOALS, REPORTED = "## Goals\n1. Do it", '{"summary": "Done.", "body": "# Done"}'
ONCE = (*WRITES, "fetch")
NOON = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Europe/Madrid"}


class Programs:
    """The servers, each a program of its own: `ledger` outlives the workers, and each of these opens a session of its
    own with it; `time` and `fetch` are spoken to over stdio. `fetch` keeps no log: the page that it reads counts for
    it, and it is declared as one that may not be called again."""

    def __init__(self, url: str, page: str, log: Path) -> None:
        self._ledger = Server("ledger", "Ledger", Http(url))
        clock = Server("time", "Time", _program("mcp_server_time"), idempotent=True)
        fetch = _program("mcp_server_fetch", "--ignore-robots-txt", "--allow-private-ips")
        self.others = _tools(clock, Server("fetch", "Fetch", fetch, idempotent=False))
        self.page, self._log = page, log
        self.read: Counter[str] = Counter()
        self._sessions: dict[tuple[int, int], McpTools] = {}

    async def call(self, world: World, use: ToolUse) -> str:
        tools = self._session(world) if use.server == "ledger" else self.others
        return await tools.call(use, team=TEAM)

    async def end_of(self, world: World) -> None:
        for key in [key for key in self._sessions if key[0] == id(world)]:
            await self._sessions.pop(key).close()

    def written(self, world: str) -> list[dict[str, str]]:
        lines = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [line for line in lines if line["world"] == world]

    def _session(self, world: World) -> McpTools:
        key = id(world), world.lives
        return self._sessions.setdefault(key, _tools(self._ledger))


def _program(module: str, *options: str) -> Stdio:
    return Stdio(sys.executable, ("-m", module, *options))


def _tools(*servers: Server) -> McpTools:
    named = {server.id: server for server in servers}
    return McpTools(named, secrets=InMemoryTeamSecrets(), files=InMemoryFiles())


@pytest.fixture
async def programs(tmp_path: Path) -> AsyncIterator[Programs]:
    async def answer(request: Request) -> PlainTextResponse:
        made.read[request.query_params["world"]] += 1
        return PlainTextResponse("a page")

    log = tmp_path / "ledger.jsonl"
    log.touch()
    command = [sys.executable, "-m", "tests.integration.executor.counting_server", str(log)]
    program = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert program.stdout is not None
    url = (await program.stdout.readline()).decode().strip()
    async with serving(Starlette(routes=[Route("/", answer)]), listening(0)) as page:
        made = Programs(url, page, log)
        yield made
        await made.others.close()
    program.kill()
    await program.wait()


def shape(programs: Programs, name: str, offers: Any) -> Shape:
    """Four rounds: what may be called twice and what may not, side by side and alone."""

    def of(tool: str, **given: str) -> tuple[str, dict[str, Any]]:
        return f"ledger__{tool}", {"world": name, **given}

    page = str(httpx.URL(programs.page, params={"world": name}))
    says = [
        GOALS,
        PLAN,
        calls(of("find"), of("add"), ("time__get_current_time", {"timezone": "UTC"})),
        calls(("fetch__fetch", {"url": page}), of("note"), of("mail")),
        calls(of("count"), of("list")),
        calls(of("pay")),
        calls(("time__convert_time", NOON)),
        "done",
        REPORTED,
    ]
    return Shape(run=new_run(robot=TEN), says=says, tools=programs.call, offers=offers)


class Offers:
    """What the servers list, asked once."""

    def __init__(self, listed: Any) -> None:
        self._listed = listed

    def with_own(self, servers: Any) -> "Offers":
        return self

    async def list(self, robot: Any) -> Any:
        return self._listed

    def problems(self, robot: Any) -> Sequence[str]:
        return ()


async def found_wrong(programs: Programs, world: World, name: str) -> list[str]:
    """By the ledger's own lines, how often the page was read, and the state of the run."""
    run, lost = await world.run(), world.unknown
    uses = uses_of(run)
    begun = Counter((line["step"], line["tool"]) for line in programs.written(name) if line["is"] == "begun")
    begun.update({(use.step_id, use.tool): programs.read[name] for use in uses if use.server == "fetch"})
    twice = [f"{tool} was begun {times} times" for (_, tool), times in begun.items() if times > 1 and tool in ONCE]
    wrong = [f"{each.name} may be repeated, and is asked about" for each in lost.values() if each.tool not in ONCE]
    done = {use.step_id: use for use in uses if use.status is ToolStatus.COMPLETED and use.server != "time"}
    called = {step: use for step, use in done.items() if step not in lost}  # what a person says of one is its result
    never = [f"{use.name} is done, and was never called" for step, use in called.items() if not begun[step, use.tool]]
    status, error = run.execution.status, run.execution.error or ""
    ends = [] if (status, len(uses)) == (ExecStatus.COMPLETED, 10) else [f"{status} {error}, {len(uses)} calls"]
    return [*world.offences, *twice, *wrong, *never, *ends]


@pytest.mark.soak
async def test_no_call_that_has_begun_is_made_again_unless_it_may_be(programs: Programs) -> None:  # F1 F9
    listing = _tools(programs._ledger)
    offers = Offers([*await listing.list(TEN), *await programs.others.list(TEN)])
    await listing.close()
    assert sorted(tool.tool for tool in offers._listed if tool.server == "ledger") == sorted((*READS, *WRITES))
    uncut = await live(World(shape(programs, "uncut", offers), Cut(), changing=True))
    wrong, unknowns = [f"uncut: {each}" for each in await found_wrong(programs, uncut, "uncut")], 0
    await programs.end_of(uncut)
    for number, effect in enumerate(uncut.cut.effects, 1):
        for after in (False, True):
            name = f"{'after' if after else 'before'} effect {number} ({effect})"
            world = await live(World(shape(programs, name, offers), Cut(number, after), changing=True))
            wrong += [f"{name}: {each}" for each in await found_wrong(programs, world, name)]
            unknowns += bool(world.unknown)
            await programs.end_of(world)
    assert wrong == []
    assert unknowns >= len(ONCE), "a call that may not be repeated is cut off at least once each"
