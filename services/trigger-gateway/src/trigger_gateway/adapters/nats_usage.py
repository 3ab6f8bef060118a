"""The usage of the bus, as its server reports it."""

from collections import Counter

from rota_common.bus.connection import Bus
from rota_common.bus.stream_usage import Usage, read_usage, waiting_triggers
from trigger_gateway.adapters.nats_definitions import check_connected, transient


class NatsUsage:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def read(self) -> list[Usage]:
        check_connected(self._bus)
        with transient():
            return await read_usage(self._bus.jetstream)

    async def waiting(self) -> Counter[str]:
        check_connected(self._bus)
        with transient():
            return await waiting_triggers(self._bus.jetstream)
