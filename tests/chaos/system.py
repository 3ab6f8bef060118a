"""Rota under test: seven processes and the servers they need; any of them can be killed and restarted, each service cut
off from a server, and a server kept from writing."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import nats
from motor.motor_asyncio import AsyncIOMotorClient
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import StreamConfig

from rota_common import topology
from rota_common.runtime.embedded_servers import EmbeddedServer, mongod, nats_server
from rota_common.testing.processes import Processes
from tests.chaos import fault_points
from tests.chaos.fault_points import (
    CLOCKS,
    CUTS,
    KNOWLEDGE,
    LEADERS,
    MONGO,
    NATS,
    PARTITIONS,
    QDRANT,
    SERVERS,
    STEPS,
    FaultPoint,
)
from tests.chaos.link import Link
from tests.chaos.nats_cluster import NODES, NatsCluster
from tests.chaos.qdrant_server import qdrant_server
from tests.chaos.robots import SOURCE, TEAM, robot
from tests.chaos.sender import ROBOTS

ADMIN_KEY = "admin-of-the-chaos-suite"
STARTS = 3
"""An outgoing connection may hold its port for a moment: then it ends, and is started again."""


SKEW_S = 15
SKEWED = ("scheduler", "executor", "delivery-center")
"""They get a second replica, whose clock is ahead."""


RESTORE_S = 60.0
"""How long a stream's limit may take to be put back: its server may be in an election."""


class System:
    """`kinds` says which servers there are, whether services reach them over links of their own, and whether replicas'
    clocks differ."""

    def __init__(self, folder: Path, kinds: Collection[str]) -> None:
        self.folder, self._kinds = folder, kinds
        self._cluster = NatsCluster(folder / "nats") if LEADERS in kinds else None
        self.servers: dict[str, list[EmbeddedServer]] = {
            NATS: self._cluster.nodes if self._cluster else [nats_server(folder / "nats")],
            MONGO: [mongod(folder / "mongo")],
        }
        if KNOWLEDGE in kinds:
            self.servers[QDRANT] = [qdrant_server(folder / "qdrant-server")]
        self._front = Link(*self._ports(NATS))
        self._links: dict[tuple[str, str], Link] = {}
        self._killed: list[EmbeddedServer] = []
        self._limited: dict[str, StreamConfig] = {}

    @property
    def nats_url(self) -> str:
        """Of the server, or of the way into the cluster."""
        return f"nats://127.0.0.1:{self._front.port}" if self._cluster else self.servers[NATS][0].url

    @property
    def gateway(self) -> str:
        return self.processes.gateway

    async def start_servers(self) -> None:
        await asyncio.gather(*(server.start() for each in self.servers.values() for server in each))
        await self._front.open()
        await topology.apply_to(self.nats_url, wanted=topology.Wanted(replicas=NODES if self._cluster else None))

    async def start(self, settings: Mapping[str, str], *, receiver: str) -> None:
        """Start the seven, then make the team, the source and the robots; `receiver` is where webhooks go."""
        common = {
            "ROTA_ADMIN_KEY": ADMIN_KEY,
            "ROTA_POOL": "1000",
            "ROTA_RATE_PER_ADDRESS": "0",
            "ROTA_RATE_PER_SOURCE": "0",
            "ROTA_MAILS_A_DAY": "0",
            "ROTA_ALLOW_PRIVATE_TARGETS": "127.0.0.0/8",
            "ROTA_QDRANT_URL": self.servers[QDRANT][0].url if QDRANT in self.servers else "",
            "NO_PROXY": "127.0.0.1",
        }
        skewed = SKEWED if CLOCKS in self._kinds else ()
        self.processes = Processes(
            self.folder,
            nats_url=self.nats_url,
            mongo_url=self.servers[MONGO][0].url,
            settings=common | dict(settings),
            replicas=dict.fromkeys(skewed, 2),
            settings_of=await self._linked() if PARTITIONS in self._kinds else None,
            run_by={f"{service}#2": ("tests.chaos.skewed", str(SKEW_S)) for service in skewed},
        )
        await self.processes.start_all()
        team = f"/v1/teams/{TEAM}"
        robots = [(f"{team}/robots", robot(member, receiver)) for member in ROBOTS]
        source = {"name": SOURCE, "secret": "$ENV.CHAOS_IN_SECRET"}
        await self.processes.create(("/v1/teams", {"team_id": TEAM}), (f"{team}/sources", source), *robots)

    async def stop(self) -> None:
        if hasattr(self, "processes"):
            await self.processes.stop_all()
        await asyncio.gather(*(link.close() for link in (self._front, *self._links.values())))
        await asyncio.gather(*(server.stop() for each in self.servers.values() for server in each))

    def is_service(self, victim: str) -> bool:
        return victim not in self.servers

    def kill(self, service: str) -> None:
        """SIGKILL, at once."""
        os.kill(self.processes.running[service].pid, signal.SIGKILL)

    async def kill_server(self, point: FaultPoint) -> None:
        """SIGKILL to all its nodes, or to the one that leads. Raises OSError or NatsError if none leads now."""
        nodes = self.servers[point.victim]
        if point.kind == LEADERS and self._cluster:
            nodes = [await self._cluster.leader(point.step)]
        for node in nodes:
            os.kill(node.pid, signal.SIGKILL)
            self._killed.append(node)

    async def begin(self, point: FaultPoint, *, seconds: float, reset: bool) -> None:
        """A fault that lasts until `end`; `seconds` are known before. Raises the server's error if it can't be now."""
        match point.kind:
            case fault_points.PARTITIONS:
                for server in CUTS[point.step]:
                    self._links[point.victim, server].cut(reset=reset)
            case fault_points.STEPDOWNS:
                await self._step_down(int(seconds) + 1)
            case fault_points.LIMITS:
                await self._limit(point.step)

    async def end(self, point: FaultPoint) -> None:
        match point.kind:
            case fault_points.PARTITIONS:
                for server in CUTS[point.step]:
                    self._links[point.victim, server].heal()
            case fault_points.LIMITS:
                await self._restore(point.step)

    async def _step_down(self, seconds: int) -> None:
        """The set's only member may not be its primary for so long: connections break, and writes are refused."""
        client: AsyncIOMotorClient[dict[str, object]] = AsyncIOMotorClient(
            "127.0.0.1", self._ports(MONGO)[0], directConnection=True, serverSelectionTimeoutMS=2000
        )
        try:
            await client.admin.command({"replSetStepDown": seconds, "force": True})
        finally:
            client.close()

    async def _limit(self, stream: str) -> None:
        """From now on the stream is full: it keeps what it has, and takes nothing."""
        async with self._jetstream() as jetstream:
            config = (await jetstream.stream_info(stream)).config
            await jetstream.update_stream(config.evolve(max_bytes=1))
            self._limited[stream] = config

    async def _restore(self, stream: str) -> None:
        config = self._limited.pop(stream)
        async with asyncio.timeout(RESTORE_S):
            while True:
                try:
                    async with self._jetstream() as jetstream:
                        await jetstream.update_stream(config)
                        return
                except (NatsError, OSError):
                    await asyncio.sleep(0.1)

    @asynccontextmanager
    async def _jetstream(self) -> AsyncIterator[JetStreamContext]:
        client = await nats.connect(self.nats_url, connect_timeout=2, max_reconnect_attempts=1)
        try:
            yield client.jetstream(timeout=3)
        finally:
            await client.close()

    async def _linked(self) -> dict[str, dict[str, str]]:
        """A link of each service to each server; the settings of each service that make it use its own."""
        settings = {}
        for service in STEPS.keys() - set(SERVERS):
            urls = {}
            for name, variable in ((NATS, "ROTA_NATS_URL"), (MONGO, "ROTA_MONGO_URL")):
                ports = self._ports(name)
                link = self._links[service, name] = Link(*ports, own_address=name == MONGO)
                await link.open()
                urls[variable] = self.servers[name][0].url.replace(f":{ports[0]}", f":{link.port}")
            settings[service] = urls
        return settings

    async def restart(self, victim: str) -> None:
        """Start the victim again, with its data, and wait until it is ready."""
        if victim in self.servers:
            killed, self._killed = self._killed, []
            await asyncio.gather(*(self._again(server) for server in killed))
            return
        await self.processes.running[victim].wait()
        for attempt in range(STARTS):
            await self.processes.start(victim)
            try:
                await self.processes.ready(victim)
                break
            except RuntimeError:
                if attempt + 1 == STARTS or self.processes.running[victim].returncode is None:
                    raise

    async def _again(self, server: EmbeddedServer) -> None:
        await server.kill()  # it is dead already: this only collects it
        await server.start()

    def _ports(self, name: str) -> list[int]:
        return [urlsplit(server.url).port or 0 for server in self.servers[name]]
