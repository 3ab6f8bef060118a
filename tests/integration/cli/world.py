"""`rota` as a program of its own, and whom its words reach in the end: a real gateway and stand-ins behind it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import httpx

from rota.server.http import listening, serving
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime
from tests.integration.cli.kit import Rota
from tests.integration.gateway.kit import ENVIRON, Gateway, Scheduler, settings
from tests.integration.gateway.standins import Executor
from trigger_gateway.app import build


@dataclass
class World:
    """Its gateway has the team acme and the robot leader."""

    rota: Rota
    gateway: Gateway
    executor: Executor
    scheduler: Scheduler
    nats: EmbeddedServer

    async def run(self, *words: str) -> CompletedProcess[str]:
        return await asyncio.to_thread(self.rota.run, *words)

    async def works(self, *words: str) -> str:
        done = await self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout


@asynccontextmanager
async def a_world(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str, home: Path) -> AsyncIterator[World]:
    async with AsyncExitStack() as ends:
        app = build(settings(nats.url, mongo_url, mongo_prefix), runtime=Runtime(fetch_timeout=0.3), environ=ENVIRON)
        url = await ends.enter_async_context(serving(app.http, listening(0)))
        http = await ends.enter_async_context(httpx.AsyncClient(base_url=url, trust_env=False))
        made = Gateway(app, nats.url, http)
        made.key = await made.make_team()
        await made.make_robot()
        executor = await ends.enter_async_context(Executor().running(nats.url))
        scheduler = await ends.enter_async_context(Scheduler(nats.url).running())
        where = {"ROTA_URL": url, "ROTA_TEAM": "acme", "ROTA_API_KEY": made.key}
        yield World(Rota(home, where), made, executor, scheduler, nats)
