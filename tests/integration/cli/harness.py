"""The command `rota` with a home of its own: in this process, or as a program; and a gateway in another thread."""

import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import httpx
import structlog

from rota.main import main
from rota.server.http import listening, serving
from rota_common.testing.team_secrets import ForEveryTeam
from tests.integration.gateway.harness import ENVIRON, Gateway, Scheduler, settings
from tests.integration.gateway.stand_ins import Executor
from trigger_gateway.app import build

EXAMPLES = Path(__file__).parents[3] / "examples"
TIMEOUT_S = 60
T = TypeVar("T")
Beside = Callable[[Coroutine[Any, Any, Any]], Any]
"""The fixture `beside`: the result of a coroutine in the loop of another thread."""


def processes_of(folder: Path) -> list[str]:
    """The command lines of all processes that name the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        if str(folder) in command:
            found.append(command)
    return found


@dataclass
class Rota:
    """Runs commands in the folder `home`, with its own context file."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    def environ(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("ROTA_", "OPENAI_"))}
        path = os.pathsep.join(part for part in sys.path if part)
        return ours | {"HOME": str(self.home), "PYTHONPATH": path, "XDG_CONFIG_HOME": str(self.home)} | self.variables

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The command as a program."""
        command = [sys.executable, "-m", "rota.main", *words]
        return subprocess.Popen(
            command, env=self.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.home
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The command in this process, with its exit code and output."""
        out, err, code = io.StringIO(), io.StringIO(), 0
        with (
            mock.patch.dict(os.environ, self.environ(), clear=True),
            contextlib.chdir(self.home),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                main(words)
            except SystemExit as end:
                code = int(end.code or 0)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    def program(self, *words: str) -> None:
        """Run the command as a program that succeeds."""
        process = self.start(*words)
        _, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err

    def works(self, *words: str) -> str:
        """The output of a command that succeeds."""
        done = self.run(*words)
        assert done.returncode == 0, done.stderr or done.stdout
        return done.stdout

    def json(self, *words: str) -> list[Any]:
        """The output of a command that succeeds with --json, line by line."""
        return [json.loads(line) for line in self.works(*words, "--json").splitlines()]


@dataclass
class Up:
    """A running `rota up --json`, and its line of the state ready."""

    process: subprocess.Popen[str]
    data: Path
    ready: dict[str, Any]

    def end(self, how: int) -> tuple[int, str]:
        """Send a signal and wait; the exit code, and the rest of the output."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        assert "Traceback" not in err, err
        return self.process.returncode, out


def start_up(rota: Rota, data: Path, *words: str) -> Up:
    process = rota.start("up", "--json", "--port", "0", "--data", str(data), *words)
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(json.loads(line))
        if lines[-1]["state"] == "ready":
            return Up(process, data, lines[-1])
    _, err = process.communicate(timeout=TIMEOUT_S)
    raise AssertionError(f"rota up ended: {lines} {err}")


@contextmanager
def entered(beside: Beside, manager: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """An async context manager in the loop of another thread, entered and left by one task."""
    ready: asyncio.Future[T]
    stop = asyncio.Event()

    async def hold() -> None:
        async with manager as value:
            ready.set_result(value)
            await stop.wait()

    async def enter() -> tuple[T, asyncio.Task[None]]:
        nonlocal ready
        ready = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(hold())
        await asyncio.wait((ready, task), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        return ready.result(), task

    async def leave() -> None:
        stop.set()
        await task

    value, task = beside(enter())
    try:
        yield value
    finally:
        beside(leave())


@dataclass
class System:
    """A gateway with the team acme and the robot leader, stand-ins behind it, and the team's command."""

    rota: Rota
    gateway: Gateway
    executor: Executor
    scheduler: Scheduler
    nats_url: str
    beside: Beside

    def reset(self) -> None:
        """Remove what a test gave to the stand-ins."""
        self.executor.__init__()  # type: ignore[misc]  # a dataclass of lists
        self.scheduler.states.clear()
        self.scheduler.plans.clear()
        self.rota.variables["ROTA_API_KEY"] = self.gateway.key


@asynccontextmanager
async def a_system(nats_url: str, mongo_url: str, prefix: str, home: Path, beside: Beside) -> AsyncIterator[System]:
    async with AsyncExitStack() as ends:
        # The gateway's log must not go to the standard output of the commands, which share its process.
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(io.StringIO()))
        ends.callback(structlog.reset_defaults)
        app = build(
            settings(nats_url, mongo_url, prefix),
            team_secrets=ForEveryTeam(ENVIRON),
        )
        url = await ends.enter_async_context(serving(app.http, listening(0)))
        http = await ends.enter_async_context(httpx.AsyncClient(base_url=url, trust_env=False, timeout=TIMEOUT_S))
        gateway = Gateway(app, nats_url, http)
        gateway.key = await gateway.make_team()
        await gateway.make_robot()
        executor = await ends.enter_async_context(Executor().running(nats_url))
        scheduler = await ends.enter_async_context(Scheduler(nats_url).running())
        where = {"ROTA_URL": url, "ROTA_TEAM": "acme", "ROTA_API_KEY": gateway.key}
        yield System(Rota(home, where), gateway, executor, scheduler, nats_url, beside)
