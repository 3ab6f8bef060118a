"""`python -m bench`: prints a table and writes `bench/results/latest.json`."""

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.floor import Floor
from bench.result_file import RESULTS, keep
from bench.sink import of_execution, sink
from bench.standard import Standard
from bench.standard_floor import StandardFloor
from bench.system import System
from bench.task_overhead import Planner, overhead
from rota_common import topology
from rota_common.runtime.embedded_servers import mongod, nats_server

Once = Callable[[], Awaitable[float]]


async def one_at_a_time(once: Once, count: int) -> float:
    """Median seconds of `count` runs, one after the other."""
    return median([await once() for _ in range(count)])


async def in_flight(once: Once, count: int, flight: int) -> float:
    """Runs per second, with `flight` of them under way until `count` are done."""
    left = iter(range(count))

    async def worker() -> None:
        for _ in left:
            await once()

    started = perf_counter()
    await asyncio.gather(*(worker() for _ in range(flight)))
    return count / (perf_counter() - started)


@dataclass(frozen=True)
class Load:
    """The work of one round."""

    rounds: int
    latency_runs: int
    rate_runs: int
    in_flight: int


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
        rows = await _by_turns(floor.once, system.once, load, "execution_latency_p50", "executions_per_second")
        rows += await _by_turns(bare.once, standard.once, load, "standard_latency_p50", "standard_per_second")
        return [*rows, await overhead(system.ended, 2 * load.rounds + 1)]


async def _by_turns(floor: Once, rota: Once, load: Load, latency: str, rate: str) -> list[dict[str, Any]]:
    """The rows of these names: ms one at a time, and runs per second with many in flight."""
    seen: dict[str, list[float]] = {"floor_s": [], "rota_s": [], "floor_rate": [], "rota_rate": []}
    for number in range(1, load.rounds + 1):
        seen["floor_s"].append(await one_at_a_time(floor, load.latency_runs))
        seen["rota_s"].append(await one_at_a_time(rota, load.latency_runs))
        seen["floor_rate"].append(await in_flight(floor, load.rate_runs, load.in_flight))
        seen["rota_rate"].append(await in_flight(rota, load.rate_runs, load.in_flight))
        figures = ", ".join(f"{name} {values[-1]:.4g}" for name, values in seen.items())
        print(f"{rate}, round {number} of {load.rounds}: {figures}")
    middle = {name: median(values) for name, values in seen.items()}
    return [
        _row(latency, middle["rota_s"] * 1000, "ms", middle["floor_s"] * 1000),
        _row(rate, middle["rota_rate"], "1/s", middle["floor_rate"]),
    ]


def _row(name: str, value: float, unit: str, floor: float) -> dict[str, Any]:
    row = {"name": name, "value": round(value, 2), "unit": unit, "floor": round(floor, 2)}
    return row | {"ratio": round(value / floor, 3)}


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
