"""`python -m bench.clock`: the clock of a hundred thousand robots, on a real mongod and nats-server: a scheduler's
start, a tick with many due, and one with none."""

import argparse
import asyncio
import json
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any

from bench.result_file import keep
from bench.robots import fill
from bench.scheduler_start import Starts, floor_of_reading
from bench.ticks import Ticks, copy, decided, rows
from rota_common import topology
from rota_common.clock import now
from rota_common.runtime.embedded_servers import mongod, nats_server
from rota_common.testing.processes import Processes
from scheduler.settings import Settings

PREFIX = "bench"


async def measure(robots: int, rounds: int) -> list[dict[str, Any]]:
    """Three rows. The scheduler's own start stores the clocks that the ticks look at."""
    due = robots // 100
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rota-bench-")))
        server, mongo = nats_server(folder / "nats"), mongod(folder / "mongo")
        for part in (server, mongo):
            await part.start()
            stack.push_async_callback(part.stop)
        await topology.apply_to(server.url)
        print(f"{robots} robots, {await fill(server.url, robots, now())} bytes each")
        settings = Settings(nats_url=server.url, mongo_url=mongo.url, mongo_prefix=PREFIX)

        def ticks(name: str) -> Ticks:
            made = Ticks(mongo.url, name, settings)
            stack.push_async_callback(made.close)
            return made

        main = ticks(f"{PREFIX}_scheduler")
        processes = Processes(
            folder, nats_url=server.url, mongo_url=mongo.url, settings={"ROTA_MONGO_PREFIX": PREFIX}, replicas={}
        )
        stack.push_async_callback(processes.stop_all)
        start = await Starts(processes, main.database, robots).measure()
        floor = await floor_of_reading(server.url, robots)
        start |= {"floor": round(floor, 2), "ratio": round(start["value"] / floor, 2)}
        print(json.dumps(start))
        until_decided = median([await decided(main.database, due) for _ in range(rounds)])
        await processes.stop_all()
        fewer = [(count, ticks(f"{PREFIX}_{count}")) for count in (robots // 100, robots // 10)]
        for count, each in fewer:
            await copy(main.database, each.database, count)
            await each.prepare()
        tick, idle = await rows(main, fewer, due, rounds)
        return [tick | {"decided_s": round(until_decided, 2)}, idle, start]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.clock", description=__doc__)
    parser.add_argument("--robots", type=int, default=100_000, help="with fewer nothing is kept (default 100000)")
    parser.add_argument("--rounds", type=int, default=5, help="floor and tick by turns (default 5)")
    given = parser.parse_args()
    measured = asyncio.run(measure(given.robots, given.rounds))
    if given.robots == 100_000:  # which the rows are named after
        keep(measured)
    for row in measured:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
