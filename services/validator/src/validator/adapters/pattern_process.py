"""Regular expressions in a child process: `re` never lets go of the interpreter, so a bad one would stop us all."""

import asyncio
import contextlib
import json
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path

from rota_common.errors import Transient
from validator.assertions import Unusable

WORKER = Path(__file__).with_name("pattern_worker.py")


class PatternProcess:
    """Starts the child at the first pattern and again after one that took too long (`seconds` of processor time)."""

    def __init__(self, *, seconds: float = 1.0) -> None:
        self._seconds = seconds
        self._process: Process | None = None
        self._one_at_a_time = asyncio.Lock()

    async def search(self, pattern: str, text: str) -> bool:
        async with self._one_at_a_time:
            answer = await self._ask(pattern, text)
        if isinstance(answer, bool):
            return answer
        raise Unusable(f"the pattern can't be used: {answer}")

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _ask(self, pattern: str, text: str) -> bool | str:
        """Whether it is found, or what is wrong with the pattern."""
        process = self._process = self._process or await self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        line = b""
        try:
            process.stdin.write(json.dumps([pattern, text]).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
        except ConnectionError:
            pass  # it has ended; its return code says why
        except asyncio.CancelledError:
            await self.close()  # or its answer would be taken for that of the next question
            raise
        if line:
            found: bool | str = json.loads(line)
            return found
        self._process = None
        await process.wait()  # not kill(): that may take the return code away from the loop, which then reports 255
        if process.returncode == -signal.SIGVTALRM:
            return f"it took longer than {self._seconds:g} s on this output; write a simpler one"
        raise Transient(f"the process that searches patterns ended with code {process.returncode}")

    async def _start(self) -> Process:
        # -I and -S: nothing of the environment, and no packages; it needs the standard library alone.
        command = (sys.executable, "-I", "-S", str(WORKER), str(self._seconds))
        return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
