"""The operator's scripts, each run in a sandboxed process that ends with its answer."""

import asyncio
import contextlib
import math
import re
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from rota_common.errors import Transient
from rota_common.json_text import parse_json
from rota_contracts.json_values import shown
from rota_contracts.model import Json
from validator.adapters.child_process import end
from validator.kinds import Faulty, Result, Unusable

WORKER = Path(__file__).with_name("script_worker.py")
NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
PRINTED = 64 * 1024
"""Bytes that a script may print."""

NO = "it says no"
WANTED = 'true, false or {"passed": true or false, "message": "why"}'


class ScriptProcess:
    """The scripts are `<folder>/<name>.py`. `seconds` is the time, `megabytes` the memory that one may take.

    A script reads one JSON object from standard input: `output` (the text), `value` (the assertion's), and `json` (the
    JSON in the output) if there is any. It prints true, false, or `{"passed": …, "message": …}`, and nothing else.
    The limits of its process are in `script_worker`.
    """

    def __init__(self, folder: str, *, seconds: float = 2.0, megabytes: int = 128) -> None:
        self._folder = folder
        self._seconds, self._megabytes = seconds, megabytes

    async def run(self, name: str, given: str) -> Result:
        script = self._find(name)
        try:
            empty = tempfile.mkdtemp(prefix="rota-script-")
            try:
                process = await self._start(script, empty)
                printed, errors = await self._talk(process, given.encode())
            finally:
                shutil.rmtree(empty, ignore_errors=True)
        except OSError as error:
            raise Transient(f"can't run scripts now: {error}") from error
        return self._read(process.returncode, printed, errors)

    def _find(self, name: str) -> Path:
        if not self._folder:
            raise Faulty("there are no scripts here: set ROTA_SCRIPTS_DIR to the folder that holds them")
        if not NAME.fullmatch(name):
            raise Faulty(f"{shown(name)} isn't a script's name: letters, digits, `_`, `.` and `-` only")
        folder = Path(self._folder)
        if not folder.is_dir():
            raise Faulty("the folder of ROTA_SCRIPTS_DIR isn't there: set it to the folder that holds the scripts")
        script = folder / f"{name}.py"
        if not script.is_file():
            raise Faulty(f"there is no {script.name} in the folder of ROTA_SCRIPTS_DIR: add it")
        return script.absolute()

    async def _start(self, script: Path, empty: str) -> Process:
        # -I, -S and -B: nothing of the environment, no packages, and no bytecode left behind.
        options = ("-I", "-S", "-B", "-X", "utf8")
        # The processor's time is only a second line: it ends a script whose caller has given up.
        limits = (str(math.ceil(self._seconds) + 1), str(self._megabytes))
        command = (sys.executable, *options, str(WORKER), str(script), *limits)
        return await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=empty, env={}, start_new_session=True
        )

    async def _talk(self, process: Process, given: bytes) -> tuple[bytes, bytes]:
        """Its output and its errors. In any case nothing of its session is left at the end."""
        assert process.stdout is not None
        assert process.stderr is not None
        reading = [asyncio.create_task(_read(process.stdout)), asyncio.create_task(_read(process.stderr))]
        feeding = asyncio.create_task(_feed(process, given))
        try:
            async with asyncio.timeout(self._seconds):
                await asyncio.gather(*reading)
                await process.wait()
            return reading[0].result(), reading[1].result()
        except TimeoutError:
            raise Unusable(f"the script took longer than {self._seconds:g} s") from None
        finally:
            for task in (*reading, feeding):
                task.cancel()
            await end(process, group=True)

    def _read(self, code: int | None, printed: bytes, errors: bytes) -> Result:
        if code != 0:
            raise Unusable(f"the script failed: {self._reason(code, errors)}")
        text = printed.decode(errors="replace")
        try:
            answer: Json = parse_json(text)
        except ValueError:
            answer = None
        match answer:
            case bool():
                return Result(answer, "" if answer else NO)
            case {"passed": bool(passed), **rest}:
                message = rest.get("message")
                return Result(passed, message[:1000] if isinstance(message, str) and message else "" if passed else NO)
        raise Unusable(f"expected the script to print {WANTED}, and it printed {shown(text)}")

    def _reason(self, code: int | None, errors: bytes) -> str:
        """The last line of a traceback, or the code it ended with."""
        last = errors.decode(errors="replace").strip().rpartition("\n")[2][:500]
        if last.startswith("MemoryError"):
            return f"it needs more than {self._megabytes} MB of memory"
        return last or f"it ended with code {code}"


async def _feed(process: Process, given: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):  # a script needn't read its input
        process.stdin.write(given)
        await process.stdin.drain()
        process.stdin.close()


async def _read(stream: asyncio.StreamReader) -> bytes:
    """All bytes of a stream. Raises Unusable if they are too many."""
    parts, size = [], 0
    while part := await stream.read(PRINTED):
        parts.append(part)
        size += len(part)
        if size > PRINTED:
            raise Unusable(f"the script printed more than {PRINTED // 1024} KB")
    return b"".join(parts)
