"""`python -m bench`: prints a table and writes `bench/results/latest.json`."""

import argparse
import asyncio
import os
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from bench.by_turns import Load, Rows, Side, by_turns, in_flight
from bench.floor import Floor
from bench.result_file import RESULTS, keep
from bench.sink import of_execution, sink
from bench.standard import Standard
from bench.standard_floor import StandardFloor
from bench.system import System
from bench.task_overhead import Planner, overhead
from rota_common import topology
from rota_common.runtime.embedded_servers import mongod, nats_server

DRY_RUN = Rows("execution_latency_p50", "executions_per_second", "cpu_per_execution")
STANDARD = Rows("standard_latency_p50", "standard_per_second", "standard_cpu")


async def measure(load: Load) -> list[dict[str, Any]]:
    """Floor and system by turns, so that what else the machine does hits both; medians over the rounds."""
    async with AsyncExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="rota-bench-")))
        nats, mongo = nats_server(folder / "nats"), mongod(folder / "mongo")
        for server in (nats, mongo):
            ends.push_async_callback(server.stop)
            await server.start()
        await topology.apply_to(nats.url)
        planner = Planner(folder / "planner")
        planning = asyncio.create_task(planner.serve())
        ends.callback(planning.cancel)
        to = await ends.enter_async_context(sink(of_execution))
        system = System(folder, nats, mongo, planner.settings())
        floor, bare = Floor(nats.url, mongo.url), StandardFloor(nats.url, mongo.url, to)
        standard = Standard(system, nats.url, to)
        for part in (floor, system, bare, standard):
            ends.push_async_callback(part.stop)
            await part.start()
            await in_flight(part.once, 50, 10)
        print("all is warm")

        def bare_parts() -> list[int]:
            return [nats.pid, mongo.pid, os.getpid()]

        def all_parts() -> list[int]:
            return [*bare_parts(), *(process.pid for process in system.processes.running.values())]

        rows = await by_turns(Side(floor.once, bare_parts), Side(system.once, all_parts), load, DRY_RUN)
        rows += await by_turns(Side(bare.once, bare_parts), Side(standard.once, all_parts), load, STANDARD)
        return [*rows, await overhead(system.ended, 2 * load.rounds + 1)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="floor and system by turns (default 5)")
    parser.add_argument("--latency-runs", type=int, default=60, help="runs one at a time, each round")
    parser.add_argument("--rate-runs", type=int, default=400, help="runs with many in flight, each round")
    parser.add_argument("--in-flight", type=int, default=50)
    given = parser.parse_args()
    rows = asyncio.run(measure(Load(given.rounds, given.latency_runs, given.rate_runs, given.in_flight)))
    keep(rows)
    print(f"\n{'figure':<26}{'value':>10} {'unit':<5}{'floor':>10}{'ratio':>8}")
    for row in rows:
        floor, ratio = row.get("floor", ""), row.get("ratio", "")
        print(f"{row['name']:<26}{row['value']:>10} {row['unit']:<5}{floor:>10}{ratio:>8}")
        if by_tasks := row.get("per_task_by_tasks"):
            print(f"  ms for each task, by the number of tasks: {by_tasks}")
    print(f"\nwritten to {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")


if __name__ == "__main__":
    main()
