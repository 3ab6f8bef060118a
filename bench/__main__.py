"""`python -m bench`: prints a table and writes `bench/results/latest.json`."""

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.floor import Floor
from bench.result_file import RESULTS, keep
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


async def measure(rounds: int, latency_runs: int, rate_runs: int, flight: int) -> list[dict[str, Any]]:
    """Floor and system by turns, so that what else the machine does hits both; medians over the rounds."""
    with tempfile.TemporaryDirectory(prefix="rota-bench-") as name:
        folder = Path(name)
        nats, mongo = nats_server(folder / "nats"), mongod(folder / "mongo")
        await asyncio.gather(nats.start(), mongo.start())
        await topology.apply_to(nats.url)
        planner = Planner(folder / "planner")
        floor, system = Floor(nats.url, mongo.url), System(folder, nats, mongo, planner.settings())
        planning = asyncio.create_task(planner.serve())
        try:
            await floor.start()
            await system.start()
            seen: dict[str, list[float]] = {"floor_s": [], "rota_s": [], "floor_rate": [], "rota_rate": []}
            for part, side in ((floor, "floor"), (system, "rota")):  # warm up
                await in_flight(part.once, 50, 10)
                print(f"{side} is warm")
            for number in range(1, rounds + 1):
                seen["floor_s"].append(await one_at_a_time(floor.once, latency_runs))
                seen["rota_s"].append(await one_at_a_time(system.once, latency_runs))
                seen["floor_rate"].append(await in_flight(floor.once, rate_runs, flight))
                seen["rota_rate"].append(await in_flight(system.once, rate_runs, flight))
                print(f"round {number} of {rounds}: " + ", ".join(f"{k} {v[-1]:.4g}" for k, v in seen.items()))
            per_task = await overhead(system.ended, 2 * rounds + 1)
        finally:
            planning.cancel()
            await system.stop()
            await floor.stop()
            await nats.stop()
            await mongo.stop()
    ms, floor_ms = median(seen["rota_s"]) * 1000, median(seen["floor_s"]) * 1000
    rate, floor_rate = median(seen["rota_rate"]), median(seen["floor_rate"])
    latency = _row("execution_latency_p50", ms, "ms", floor_ms)
    return [latency, _row("executions_per_second", rate, "1/s", floor_rate), per_task]


def _row(name: str, value: float, unit: str, floor: float) -> dict[str, Any]:
    row = {"name": name, "value": round(value, 2), "unit": unit, "floor": round(floor, 2)}
    return row | {"ratio": round(value / floor, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="floor and system by turns (default 3)")
    parser.add_argument("--latency-runs", type=int, default=60, help="runs one at a time, each round")
    parser.add_argument("--rate-runs", type=int, default=400, help="runs with many in flight, each round")
    parser.add_argument("--in-flight", type=int, default=50)
    given = parser.parse_args()
    rows = asyncio.run(measure(given.rounds, given.latency_runs, given.rate_runs, given.in_flight))
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
