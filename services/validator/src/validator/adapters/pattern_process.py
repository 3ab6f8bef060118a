"""Regular expressions in child processes: `re` keeps the interpreter, so a slow one would stop the service."""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path

from rota_common.errors import Transient
from validator.adapters.child_process import end
from validator.kinds import Faulty, Unusable

WORKER = Path(__file__).with_name("pattern_worker.py")


class PatternProcess:
    """Starts a child at the first pattern, and another when all are busy or one took too long.

    `seconds` is the processor time a pattern may take, `at_once` how many children there may be.
    """

    def __init__(self, *, seconds: float = 1.0, at_once: int = 2) -> None:
        self._seconds = seconds
        self._idle: list[Process] = []
        self._slots = asyncio.Semaphore(at_once)

    async def search(self, pattern: str, text: str) -> bool:
        async with self._slots:
            answer = await self._ask(pattern, text)
        if isinstance(answer, bool):
            return answer
        raise Faulty(f"the pattern can't be used: {answer}")

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for process in idle:
            await end(process)

    async def _ask(self, pattern: str, text: str) -> bool | str:
        """Whether it is found, or the error of the pattern."""
        process = self._idle.pop() if self._idle else await self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        line = b""
        try:
            process.stdin.write(json.dumps([pattern, text]).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
        except ConnectionError:
            pass  # it has ended; its return code is the reason
        except asyncio.CancelledError:
            await end(process)  # or its answer would be taken for that of the next question
            raise
        if line:
            self._idle.append(process)
            found: bool | str = json.loads(line)
            return found
        await process.wait()  # not kill(): that may take the return code away from the loop, which then reports 255
        await end(process)
        if process.returncode == -signal.SIGVTALRM:
            took = f"it took longer than {self._seconds:g} s on this output; write a simpler one"
            raise Unusable(f"the pattern can't be used: {took}")
        raise Transient(f"the process that searches patterns ended with code {process.returncode}")

    async def _start(self) -> Process:
        # -I and -S: nothing of the environment, and no packages; it needs the standard library alone.
        command = (sys.executable, "-I", "-S", str(WORKER), str(self._seconds))
        return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
