"""A NATS cluster on this machine: three nodes, and who leads what."""

import asyncio
import json
import urllib.request
from pathlib import Path

import nats

from rota_common.runtime.embedded_servers import EmbeddedServer, free_port, nats_server
from tests.chaos.fault_points import META

NODES = 3


class NatsCluster:
    """Nodes that don't advertise each other: clients reach whichever is up through one link, as through the service of
    a Kubernetes cluster."""

    def __init__(self, folder: Path) -> None:
        routes = [free_port() for _ in range(NODES)]
        among = ",".join(f"nats://127.0.0.1:{port}" for port in routes)
        self._monitors = [free_port() for _ in range(NODES)]
        self.nodes = [
            nats_server(
                folder / name,
                options=(
                    *("--server_name", name, "--cluster_name", "rota", "--cluster", f"nats://127.0.0.1:{route}"),
                    *("--routes", among, "--no_advertise", "-m", str(monitor)),
                ),
            )
            for name, route, monitor in zip(("n1", "n2", "n3"), routes, self._monitors, strict=True)
        ]

    async def leader(self, group: str) -> EmbeddedServer:
        """The node that leads a stream, or the META group. Raises OSError or NatsError while there is none."""
        name = await asyncio.to_thread(self._meta_leader) if group == META else await self._stream_leader(group)
        for node in self.nodes:
            if node.folder.name == name:
                return node
        raise OSError(f"{group} has no leader now")

    def _meta_leader(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._monitors[0]}/jsz", timeout=3) as answer:  # loopback
            return str(json.load(answer)["meta_cluster"].get("leader", ""))

    async def _stream_leader(self, stream: str) -> str:
        client = await nats.connect([node.url for node in self.nodes], connect_timeout=2, max_reconnect_attempts=1)
        try:
            cluster = (await client.jetstream(timeout=3).stream_info(stream)).cluster
        finally:
            await client.close()
        return (cluster.leader if cluster else None) or ""
