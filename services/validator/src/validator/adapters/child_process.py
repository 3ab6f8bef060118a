"""Ending a child process so that nothing of it is left."""

import contextlib
import os
import signal
from asyncio.subprocess import Process


async def end(process: Process, *, group: bool = False) -> None:
    """Kill it, or all of its process group, which it must lead; and close its pipes, whoever else still holds them."""
    with contextlib.suppress(ProcessLookupError):
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    await process.wait()
    # asyncio closes a pipe when its last byte is read, which nobody will do, and offers no other way to close it.
    process._transport.close()  # type: ignore[attr-defined]  # see above
