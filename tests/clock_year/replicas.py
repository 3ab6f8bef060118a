"""Three schedulers as processes, each with its clock, that are killed and started again while the others go on."""

import asyncio
import contextlib
import os
import signal
import sys
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from tests.clock_year.shared_clock import SharedClock

PATIENCE_S = 60.0
LONGEST_DOWNTIME_S = 1.5
POLL_S = 0.005


class Replicas:
    """`kills`: the number of SIGKILLs. A replica's log is `replica-<number>.log` in `folder`."""

    def __init__(
        self, count: int, folder: Path, begin: datetime, *, settings: Mapping[str, str], random: Random
    ) -> None:
        self._files = [folder / f"clock-{number}" for number in range(count)]
        self._clocks = [SharedClock.made(file, begin) for file in self._files]
        self._folder, self._environ = folder, os.environ | settings
        self._random = random
        self._fork_server: asyncio.subprocess.Process | None = None
        self._pids: dict[int, int] = {}
        self._starts = Counter[int]()
        self._change = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self.kills = 0

    def show(self, readings: Sequence[datetime]) -> None:
        """Set the clocks."""
        for clock, reading in zip(self._clocks, readings, strict=True):
            clock.show(reading)

    async def open(self) -> None:
        """Start the fork server; no replica yet."""
        pipe = asyncio.subprocess.PIPE
        command = [sys.executable, "-m", "tests.clock_year.fork_server"]
        with (self._folder / "fork_server.log").open("ab") as log:
            self._fork_server = await asyncio.create_subprocess_exec(
                *command, env=self._environ, stdin=pipe, stdout=pipe, stderr=log
            )
        self._background(self._read_starts(self._fork_server))

    def check(self) -> None:
        """Raise the errors of background work."""
        for task in self._tasks:
            if task.done():
                task.result()
        for number, pid in self._pids.items():
            if not _alive(pid):
                raise RuntimeError(f"replica {number} ended by itself: see replica-{number}.log in {self._folder}")

    async def start_all(self) -> None:
        await asyncio.gather(*(self._start(number) for number in range(len(self._clocks))))

    async def kill_all(self) -> None:
        """No replica runs afterwards."""
        await self.wait_until_all_run()
        await self._kill(list(self._pids))

    def kill_some(self, count: int, *, after: float, spare: int | None = None) -> None:
        """In the background: kill `count` replicas, not `spare` and not the last one; each restarts soon."""
        self._background(self._kill_some(count, after, spare))

    async def wait_until_all_run(self) -> None:
        """Wait until every replica runs and no kill is planned. Raises the errors of background work."""
        while len(self._tasks) > 1:  # one reads the fork server's output
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            self.check()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for pid in self._pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._fork_server is not None:
            with contextlib.suppress(ProcessLookupError):
                self._fork_server.kill()
            await self._fork_server.wait()

    async def _read_starts(self, fork_server: asyncio.subprocess.Process) -> None:
        assert fork_server.stdout is not None
        async for line in fork_server.stdout:
            number, pid = map(int, line.split())
            async with self._change:
                self._pids[number] = pid
                self._starts[number] += 1
                self._change.notify_all()
        raise RuntimeError(f"the fork server ended by itself: see fork_server.log in {self._folder}")

    async def _kill_some(self, count: int, after: float, spare: int | None) -> None:
        await asyncio.sleep(after)
        async with self._change:
            await self._change.wait_for(lambda: len(self._pids) > count)
        victims = self._random.sample(sorted(self._pids.keys() - {spare}), count)
        await self._kill(victims)
        for victim in victims:
            self._background(self._return(victim, self._random.uniform(0, LONGEST_DOWNTIME_S)))

    async def _return(self, number: int, after: float) -> None:
        await asyncio.sleep(after)
        await self._start(number)

    async def _kill(self, numbers: Sequence[int]) -> None:
        """SIGKILL, all at once, and wait until they have ended."""
        pids = [self._pids.pop(number) for number in numbers]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.kills += len(pids)
        while any(_alive(pid) for pid in pids):
            await asyncio.sleep(POLL_S)

    async def _start(self, number: int) -> None:
        assert self._fork_server is not None
        assert self._fork_server.stdin is not None
        log = self._folder / f"replica-{number}.log"
        self._fork_server.stdin.write(f"{number} {self._files[number]} {log}\n".encode())
        nth = self._starts[number] + 1  # it may be killed again before this is checked
        try:
            async with asyncio.timeout(PATIENCE_S), self._change:
                await self._change.wait_for(lambda: self._starts[number] >= nth)
        except TimeoutError:
            raise RuntimeError(f"replica {number} did not start: see {log} and fork_server.log") from None

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is None:
            self._tasks.discard(task)  # a failed one stays, for `check` to raise


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
