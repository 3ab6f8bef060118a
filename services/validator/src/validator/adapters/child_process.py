"""The end of a child process: nothing of it is left."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process


async def end(process: Process, *, group: bool = False) -> None:
    """Kill it, or all of its process group, which it must lead; and close its pipes, whichever process holds them."""
    with contextlib.suppress(ProcessLookupError):
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    # asyncio waits for a pipe until its last byte is read, which doesn't happen here; and before the process is waited
    # for, closing its transport would take its return code away from the loop, which warns of that.
    transport: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined]  # no public way to it
    for number in range(3):
        pipe = transport.get_pipe_transport(number)
        if pipe is not None and not pipe.is_closing():
            pipe.abort() if isinstance(pipe, asyncio.WriteTransport) else pipe.close()
    await process.wait()
    transport.close()
