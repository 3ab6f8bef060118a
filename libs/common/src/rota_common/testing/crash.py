"""The crash of a service inside the test's process, as by kill -9: nothing is finished, returned or given up."""

import asyncio
import contextlib
from typing import Any

from rota_common.runtime.service import Service, _cancel


async def crash(service: Service) -> None:
    """Close the connections first, then cancel the work, so that nothing sent on the way out arrives."""
    client: Any = service.bus.client
    client.options["allow_reconnect"] = False
    client._transport.close()
    for hook in (*service._hooks_down, *service._hooks_closing):
        await hook()
    for worker in service._workers:
        worker._stopping.set()
    tasks = [*service._tasks, *(task for worker in service._workers for task in worker._running)]
    await _cancel(tasks, again=0.1)
    await asyncio.gather(*tasks, return_exceptions=True)
    for answering in service.bus.answering:
        await answering.abandon()
    with contextlib.suppress(OSError):  # its server may have gone before
        await client.close()
