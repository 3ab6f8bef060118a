"""The real servers of the year: nats-server and mongod, prepared for a virtual clock."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import nats

from rota_common import topology
from rota_common.bus.robots import robot_key
from rota_common.runtime.embedded_servers import mongod, nats_server
from rota_common.stores.mongo import Mongo
from rota_common.testing.bus import keep_all, short_ack_wait
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET

LEASE_S, TICK_S, ASK_S = 0.6, 0.05, 1.0
DAY_S = 86400


@dataclass(frozen=True)
class Servers:
    nats_url: str
    mongo_url: str

    @property
    def settings(self) -> dict[str, str]:
        """Settings of a replica: a short lease, and a pool with room for all simultaneous runs."""
        return {
            "ROTA_NATS_URL": self.nats_url,
            "ROTA_MONGO_URL": self.mongo_url,
            "ROTA_POOL": "10000",
            "ROTA_LEASE": str(LEASE_S),
            "ROTA_TICK_EVERY": str(TICK_S),
            "ROTA_SLOT_PATIENCE": str(ASK_S),
            # The clock jumps from one instant to the next: every request would be overdue.
            "ROTA_REPUBLISH_AFTER": str(DAY_S),
            "ROTA_LOG_LEVEL": "WARNING",
        }

    async def keep(self, robots: Iterable[Robot]) -> None:
        """Store the definitions as the gateway does."""
        client = await nats.connect(self.nats_url)
        bucket = await client.jetstream().key_value(ROBOTS_BUCKET)
        for robot in robots:
            await bucket.put(robot_key(robot.team_id, robot.member_id), robot.model_dump_json().encode())
        await client.close()


@asynccontextmanager
async def servers(folder: Path) -> AsyncIterator[Servers]:
    bus, store = nats_server(folder / "nats"), mongod(folder / "mongo")
    try:
        await bus.start()
        await store.start()
        await topology.apply_to(bus.url)
        await keep_all(bus.url)  # the listener reads each stream from its beginning
        await short_ack_wait(bus.url, "scheduler")
        await _keep_old_documents(store.url)
        yield Servers(bus.url, store.url)
    finally:
        await bus.kill()
        await store.kill()


async def _keep_old_documents(url: str) -> None:
    """The database deletes ended executions by its own clock, and the whole year is long past."""
    mongo = Mongo(url, "admin")
    await mongo.database.command({"setParameter": 1, "ttlMonitorEnabled": False})
    await mongo.close()
