"""Rota under test: seven processes, a nats-server and a mongod; any of them can be killed and restarted, and each
service cut off from a server."""

import asyncio
import os
import signal
from collections.abc import Collection, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from rota_common import topology
from rota_common.runtime.embedded_servers import EmbeddedServer, mongod, nats_server
from rota_common.testing.processes import Processes
from tests.chaos.fault_points import CLOCKS, CUTS, MONGO, NATS, PARTITIONS, STEPS, FaultPoint
from tests.chaos.link import Link
from tests.chaos.robots import SOURCE, TEAM, robot
from tests.chaos.sender import ROBOTS

ADMIN_KEY = "admin-of-the-chaos-suite"
STARTS = 3
"""An outgoing connection may hold its port for a moment: then it ends, and is started again."""


SKEW_S = 15
SKEWED = ("scheduler", "executor", "delivery-center")
"""They get a second replica, whose clock is ahead."""


class System:
    """`kinds` says whether services reach the servers over links of their own, and whether replicas' clocks differ."""

    def __init__(self, folder: Path, kinds: Collection[str]) -> None:
        self.folder, self._kinds = folder, kinds
        self._links: dict[tuple[str, str], Link] = {}
        self.servers: dict[str, EmbeddedServer] = {
            "nats-server": nats_server(folder / "nats"),
            "mongod": mongod(folder / "mongo"),
        }

    @property
    def nats_url(self) -> str:
        return self.servers["nats-server"].url

    @property
    def gateway(self) -> str:
        return self.processes.gateway

    async def start_servers(self) -> None:
        await asyncio.gather(*(server.start() for server in self.servers.values()))
        await topology.apply_to(self.nats_url)

    async def start(self, settings: Mapping[str, str], *, receiver: str) -> None:
        """Start the seven, then make the team, the source and the robots; `receiver` is where webhooks go."""
        common = {
            "ROTA_ADMIN_KEY": ADMIN_KEY,
            "ROTA_POOL": "1000",
            "ROTA_RATE_PER_ADDRESS": "0",
            "ROTA_RATE_PER_SOURCE": "0",
            "ROTA_MAILS_A_DAY": "0",
            "ROTA_ALLOW_PRIVATE_TARGETS": "127.0.0.0/8",
            "NO_PROXY": "127.0.0.1",
        }
        skewed = SKEWED if CLOCKS in self._kinds else ()
        self.processes = Processes(
            self.folder,
            nats_url=self.nats_url,
            mongo_url=self.servers[MONGO].url,
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
        await asyncio.gather(*(link.close() for link in self._links.values()))
        await asyncio.gather(*(server.stop() for server in self.servers.values()))

    def kill(self, victim: str) -> None:
        """SIGKILL, at once."""
        server = self.servers.get(victim)
        os.kill(server.pid if server else self.processes.running[victim].pid, signal.SIGKILL)

    def cut(self, point: FaultPoint, *, reset: bool) -> None:
        for server in CUTS[point.step]:
            self._links[point.victim, server].cut(reset=reset)

    def heal(self, point: FaultPoint) -> None:
        for server in CUTS[point.step]:
            self._links[point.victim, server].heal()

    async def _linked(self) -> dict[str, dict[str, str]]:
        """A link of each service to each server; the settings of each service that make it use its own."""
        settings = {}
        for service in STEPS.keys() - self.servers.keys():
            urls = {}
            for name, variable in ((NATS, "ROTA_NATS_URL"), (MONGO, "ROTA_MONGO_URL")):
                url = self.servers[name].url
                port = urlsplit(url).port or 0
                link = self._links[service, name] = Link(port, own_address=name == MONGO)
                await link.open()
                urls[variable] = url.replace(f":{port}", f":{link.port}")
            settings[service] = urls
        return settings

    async def restart(self, victim: str) -> None:
        """Start the victim again, with its data, and wait until it is ready."""
        if server := self.servers.get(victim):
            await server.kill()  # it is dead already: this only collects it
            await server.start()
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
