"""Rota as one of those that are measured: everything on stores of its own, in standard mode."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from bench.peers.goals import Figures, figures
from bench.peers.work import Load, drive
from bench.sink import Sink, of_execution, sink
from bench.standard import Standard
from bench.system import System
from bench.task_overhead import Planner
from rota_common import topology
from rota_common.runtime.embedded_servers import mongod, nats_server


@asynccontextmanager
async def _running(folder: Path, to: Sink) -> AsyncIterator[Standard]:
    async with AsyncExitStack() as ends:
        nats, mongo = nats_server(folder / "nats"), mongod(folder / "mongo")
        for server in (nats, mongo):
            ends.push_async_callback(server.stop)
            await server.start()
        await topology.apply_to(nats.url)
        planner = Planner(folder / "planner")
        planning = asyncio.create_task(planner.serve())
        ends.callback(planning.cancel)
        system = System(folder, nats, mongo, planner.settings())
        standard = Standard(system, nats.url, to)
        for part in (system, standard):
            ends.push_async_callback(part.stop)
            await part.start()
        yield standard


async def measure(folder: Path, load: Load) -> Figures:
    async with sink(of_execution) as to, _running(folder, to) as standard:
        return figures(await drive(standard.run, load), to.at)
