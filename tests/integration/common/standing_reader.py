"""A reader as a process of its own: it writes down each message that it handles, and a line when more are in its hands
than it has slots."""

import asyncio
import os
import signal
import sys

import structlog

from tests.integration.common.harness import Started, reader

SLOTS = 16
TOO_MANY = "too many"


async def main(url: str, path: str) -> None:
    handled, in_hand = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 0

    async def handle(event: Started) -> None:
        nonlocal in_hand
        in_hand += 1
        if in_hand > SLOTS:
            os.write(handled, f"{TOO_MANY}\n".encode())
        await asyncio.sleep(0)  # the others that are there begin
        os.write(handled, f"{event.data.execution_id}\n".encode())
        in_hand -= 1

    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    service = reader(url, handle, slots=SLOTS)
    await service.start()
    await stopped.wait()
    await service.stop(5)


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    asyncio.run(main(*sys.argv[1:]))
