"""Child processes that don't outlive their parent: tied to it on Linux, and known by a pid file everywhere.

A pid file proves little: numbers are used again, and folders are copied. A process is ended only if its command line is
the one in the file, and names the file's own folder.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rota_common.runtime import tied_process

STOP_TIMEOUT_S = 10.0
LOOK_S = 0.02
PID_FILE = "server.pid"


def tied(command: Sequence[str]) -> list[str]:
    """The command that runs `command` until this process ends; on Linux alone, elsewhere `command` itself."""
    if sys.platform != "linux":
        return list(command)
    return [sys.executable, "-I", "-S", tied_process.__file__, str(os.getpid()), *command]


def keep_pid(folder: Path, pid: int, command: Sequence[str]) -> None:
    """Write the pid file of the folder's process."""
    (folder / PID_FILE).write_text(json.dumps({"pid": pid, "command": list(command)}))


def forget_pid(folder: Path) -> None:
    (folder / PID_FILE).unlink(missing_ok=True)


async def end_orphan(folder: Path) -> int | None:
    """End the process that a killed parent left in the folder: SIGTERM, after 10 s SIGKILL. Any other process is left
    alone. Returns the pid that it had, if there was one."""
    orphan = _orphan(folder)
    if orphan is None:
        forget_pid(folder)
        return None
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(orphan, how)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(_until_ended(folder), STOP_TIMEOUT_S)
            break
    forget_pid(folder)
    return orphan


async def _until_ended(folder: Path) -> None:
    while _orphan(folder) is not None:  # noqa: ASYNC110  # not a child of this process: nothing reports its end
        await asyncio.sleep(LOOK_S)


def _orphan(folder: Path) -> int | None:
    """The pid in the file, if the process with this number is the folder's."""
    try:
        kept = json.loads((folder / PID_FILE).read_text())
        pid, command = int(kept["pid"]), [str(word) for word in kept["command"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    names_folder = any(Path(word).is_relative_to(folder) for word in command)
    return pid if names_folder and _command_line(pid) == " ".join(command) else None


def _command_line(pid: int) -> str:
    """The words of a running process's command, with spaces between; empty if there is no such process."""
    proc = Path("/proc")
    if (proc / "self").exists():
        with contextlib.suppress(OSError):
            return (
                (proc / str(pid) / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
            )
        return ""
    asked = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603  # pid is a number
