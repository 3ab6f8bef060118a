"""Buckets of NATS as their streams describe them."""

from rota_common.bus.connection import Bus
from trigger_gateway.adapters.nats_definitions import check_connected, transient
from trigger_gateway.copies.ports import Bucket


class NatsBuckets:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def look(self, name: str) -> Bucket:
        check_connected(self._bus)
        with transient():
            info = await self._bus.jetstream.stream_info(f"KV_{name}")
        return Bucket(made=info.created.isoformat() if info.created else "", empty=info.state.last_seq == 0)
