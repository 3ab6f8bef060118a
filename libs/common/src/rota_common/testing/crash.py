"""Ending a service inside the test's own process as kill -9 would: nothing is finished, handed back or given up."""

import asyncio

from rota_common.service import Service


async def crash(service: Service) -> None:
    """First the connections are gone, then the work: what the service still tries on its way out reaches nobody."""
    client = service.bus.client
    client.options["allow_reconnect"] = False
    transport = client._transport
    if transport is not None:
        transport.close()
    for hook in service._hooks_down:
        await hook()
    tasks = [*service._tasks, *(task for worker in service._workers for task in worker._running)]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.gather(*(each.stop() for each in service.bus.broker.subscribers), return_exceptions=True)
    await client.close()
