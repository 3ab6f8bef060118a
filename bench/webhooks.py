"""Webhooks: signed ones accepted per second, each stored before its 202; beside a bare ASGI app."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import nats
from nats.js.api import DiscardPolicy, RetentionPolicy, StreamConfig

from bench.bare_asgi import STREAM, SUBJECT
from bench.http import Connection
from bench.polling import until
from bench.system import ADMIN_KEY, EVENT, ROBOT, SECRET, SOURCE, TEAM, signed
from rota_common.runtime.embedded_servers import EmbeddedServer, free_port
from rota_common.testing.processes import Processes
from rota_common.testing.team_secrets import secrets_folder
from rota_contracts.catalog import TRIGGER_RECEIVED

CONNECTIONS = 32
GATEWAY = "trigger-gateway"
NO_LIMITS = {"ROTA_RATE_PER_ADDRESS": "0", "ROTA_RATE_PER_SOURCE": "0"}
MIB = 1024 * 1024


async def posted(port: int, path: str, count: int) -> float:
    """Posts per second over 32 kept connections. Raises RuntimeError for any answer but 202."""
    connections = [Connection("127.0.0.1", port) for _ in range(CONNECTIONS)]
    left, body = iter(range(count)), json.dumps(EVENT).encode()

    async def work(connection: Connection) -> None:
        for _ in left:
            status, answer = await connection.post(path, body, signed(body))
            if status != 202:
                raise RuntimeError(f"expected 202 from {path}, got {status}: {answer}")

    began = perf_counter()
    try:
        await asyncio.gather(*(work(connection) for connection in connections))
    finally:
        for connection in connections:
            connection.close()
    return count / (perf_counter() - began)


class Bare:
    """The floor, in a process of its own as the gateway is."""

    def __init__(self, nats_url: str) -> None:
        self.port = free_port()
        self._nats_url = nats_url

    async def start(self) -> None:
        client = await nats.connect(self._nats_url)
        config = StreamConfig(
            name=STREAM,
            subjects=[SUBJECT],
            retention=RetentionPolicy.WORK_QUEUE,
            discard=DiscardPolicy.NEW,
            max_bytes=256 * MIB,
            duplicate_window=600,
        )
        await client.jetstream().add_stream(config)
        await client.close()
        command = ["-m", "uvicorn", "bench.bare_asgi:app", "--port", str(self.port), "--log-level", "warning"]
        environ = os.environ | {"BARE_NATS_URL": self._nats_url}
        self._process = await asyncio.create_subprocess_exec(sys.executable, *command, env=environ)
        await until(lambda: _listens(self.port), patience=30)

    async def stop(self) -> None:
        self._process.terminate()
        await self._process.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def measure(
    folder: Path, server: EmbeddedServer, mongo: EmbeddedServer, *, rounds: int, count: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """The row `webhooks_accepted_per_second`: medians of rounds by turns, and 0 of the accepted ones not stored."""
    settings = {"ROTA_ADMIN_KEY": ADMIN_KEY, **NO_LIMITS}
    settings |= secrets_folder(folder, TEAM, BENCH_SECRET=SECRET)
    gateway = Processes(folder, nats_url=server.url, mongo_url=mongo.url, settings=settings)
    bare, client = Bare(server.url), await nats.connect(server.url)
    seen: dict[str, list[float]] = {"floor": [], "rota": []}
    stream, path = str(TRIGGER_RECEIVED.stream), f"/v1/hooks/{TEAM}/{SOURCE}"
    jetstream = client.jetstream(timeout=10)
    try:
        await asyncio.gather(bare.start(), gateway.start(GATEWAY))
        await gateway.ready(GATEWAY)
        team = f"/v1/teams/{TEAM}"
        source = {"name": SOURCE, "secret": "$ENV.BENCH_SECRET"}
        await gateway.create(("/v1/teams", {"team_id": TEAM}), (f"{team}/sources", source), (f"{team}/robots", ROBOT))
        for port, where in ((bare.port, "/"), (gateway.ports[GATEWAY], path)):
            await posted(port, where, count // 4)  # warm up
        for number in range(1, rounds + 1):
            await asyncio.gather(jetstream.purge_stream(STREAM), jetstream.purge_stream(stream))
            seen["floor"].append(await posted(bare.port, "/", count))
            seen["rota"].append(await posted(gateway.ports[GATEWAY], path, count))
            stored = (await jetstream.stream_info(stream)).state.messages
            if stored != count:
                raise RuntimeError(f"{count} webhooks were accepted, {stored} triggers are stored")
            say(f"webhooks, round {number} of {rounds}: " + ", ".join(f"{k} {v[-1]:.0f}/s" for k, v in seen.items()))
    finally:
        await gateway.stop_all()
        await bare.stop()
        await client.close()
    floor, rota = median(seen["floor"]), median(seen["rota"])
    row = {"name": "webhooks_accepted_per_second", "value": round(rota), "unit": "1/s", "floor": round(floor)}
    return row | {"ratio": round(rota / floor, 3), "connections": CONNECTIONS}
