"""A terminal: a bash that keeps its variables from block to block, and whose output is read as it comes."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

DONE = "-- done --"
STOP_WITHIN_S = 60


class Terminal:
    def __init__(self, bash: asyncio.subprocess.Process) -> None:
        self._bash = bash
        self.shown: list[str] = []
        """All lines so far."""

    def start(self, commands: str) -> None:
        """Type commands in. They read nothing: what follows on the standard input is the next block."""
        assert self._bash.stdin is not None
        self._bash.stdin.write(f"{{ {commands}\n}} < /dev/null\n".encode())

    async def run(self, commands: str) -> None:
        """Run commands that end; the first one that fails ends the terminal."""
        since = len(self.shown)
        self.start(f"{commands}\necho '{DONE}'")
        await self.until(DONE, since=since)

    async def until(self, text: str, *, since: int = 0) -> None:
        """Wait for a line with `text`, from that line on."""
        assert self._bash.stdout is not None
        while not any(text in line for line in self.shown[since:]):
            since = len(self.shown)
            line = await self._bash.stdout.readline()
            if not line:
                raise AssertionError(f"expected {text}, and the terminal ended:\n" + "\n".join(self.shown))
            self.shown.append(line.decode().rstrip("\n"))

    async def close(self) -> None:
        """End the bash and all that it has started, and wait until nothing of it writes to the terminal any more."""
        with suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_WITHIN_S):
                await self._bash.communicate()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._bash.pid, signal.SIGKILL)


@asynccontextmanager
async def terminal(folder: Path, environ: Mapping[str, str]) -> AsyncIterator[Terminal]:
    bash = await asyncio.create_subprocess_exec(
        "bash",
        "-e",
        "-o",
        "pipefail",
        cwd=folder,
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    opened = Terminal(bash)
    try:
        yield opened
    finally:
        await opened.close()
