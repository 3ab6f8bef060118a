"""Standard mode with a million finished runs in the stores beside none of them, by turns. `python -m bench.history`

Two whole systems, each with a nats-server and a mongod of its own; of the one that isn't measured no service runs. The
finished runs are copies of real ones, in every collection whose documents name the run (executions, the scheduler's
queue, deliveries); the gateway's log of events names triggers and isn't filled.
"""

import argparse
import asyncio
import json
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import httpx

from bench.by_turns import Load, in_flight, one_at_a_time, row
from bench.copies import copy_runs
from bench.result_file import keep
from bench.sink import Sink, of_execution, sink
from bench.standard import Standard
from bench.system import ADMIN, TEAM, System
from bench.task_overhead import Planner
from rota_common import topology
from rota_common.runtime.embedded_servers import mongod, nats_server

MODELS = 20
"""Real runs that the copies are made of."""

LISTS = 20
FIGURES = {
    "latency": ("history_latency_p50", "ms"),
    "rate": ("history_per_second", "1/s"),
    "list": ("history_list_p50", "ms"),
}
FULL, EMPTY = "with", "without"
Seen = dict[str, list[float]]


class Side:
    """A system with servers of its own, whose services start and stop."""

    def __init__(self, folder: Path, settings: dict[str, str], to: Sink) -> None:
        folder.mkdir()
        self._nats, self.mongo = nats_server(folder / "nats"), mongod(folder / "mongo")
        self._system = System(folder, self._nats, self.mongo, settings)
        self.standard = Standard(self._system, self._nats.url, to)

    async def start(self) -> None:
        await asyncio.gather(self._nats.start(), self.mongo.start())
        await topology.apply_to(self._nats.url)
        await self._system.start()
        await self.standard.start()

    async def stop(self) -> None:
        await self.standard.stop()
        await self._system.stop()
        await asyncio.gather(self._nats.stop(), self.mongo.stop())

    async def round(self, load: Load) -> dict[str, float]:
        """The figures of a start of its services, warmed up."""
        await self._system.processes.start_all()
        await in_flight(self.standard.once, 50, 10)
        found = {
            "latency": await one_at_a_time(self.standard.once, load.latency_runs) * 1000,
            "rate": await in_flight(self.standard.once, load.rate_runs, load.in_flight),
            "list": await one_at_a_time(self._listed, LISTS) * 1000,
        }
        await self.rest()
        return found

    async def rest(self) -> None:
        await self._system.processes.stop_all()

    async def _listed(self) -> float:
        """Seconds of the newest page of the team's runs."""
        async with httpx.AsyncClient(trust_env=False, headers=ADMIN, timeout=60) as client:
            began = perf_counter()
            found = await client.get(f"{self._system.processes.gateway}/v1/teams/{TEAM}/executions")
            found.raise_for_status()
            return perf_counter() - began


async def measure(load: Load, runs: int) -> list[dict[str, Any]]:
    """Rows whose floor is the same without the finished runs."""
    async with AsyncExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="rota-history-")))
        planner = Planner(folder / "planner")
        planning = asyncio.create_task(planner.serve())
        ends.callback(planning.cancel)
        to = await ends.enter_async_context(sink(of_execution))
        settings = planner.settings()
        sides = {name: Side(folder / name, settings, to) for name in (EMPTY, FULL)}
        for side in sides.values():
            ends.push_async_callback(side.stop)
            await side.start()
            models = [(await side.standard.run())[0] for _ in range(MODELS)]
            await side.rest()
        began = perf_counter()
        documents = await copy_runs(sides[FULL].mongo.url, models, runs, print)
        print(f"{runs} finished runs of {documents} documents each, written in {perf_counter() - began:.0f} s")
        seen: dict[str, Seen] = {name: {figure: [] for figure in FIGURES} for name in sides}
        for number in range(1, load.rounds + 1):
            for name, side in sides.items():
                found = await side.round(load)
                for figure, value in found.items():
                    seen[name][figure].append(value)
                print(f"round {number} of {load.rounds}, {name}: " + json.dumps(found), flush=True)
    return _rows(seen[FULL], seen[EMPTY], runs)


def _rows(full: Seen, empty: Seen, runs: int) -> list[dict[str, Any]]:
    return [
        row(name, median(full[figure]), unit, median(empty[figure])) | {"finished_runs": runs}
        for figure, (name, unit) in FIGURES.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.history", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000, help="finished runs in the stores (default 1000000)")
    parser.add_argument("--rounds", type=int, default=5, help="with and without by turns (default 5)")
    parser.add_argument("--latency-runs", type=int, default=60, help="runs one at a time, each round")
    parser.add_argument("--rate-runs", type=int, default=400, help="runs with many in flight, each round")
    parser.add_argument("--in-flight", type=int, default=50)
    given = parser.parse_args()
    load = Load(given.rounds, given.latency_runs, given.rate_runs, given.in_flight)
    rows = asyncio.run(measure(load, given.runs))
    keep(rows)
    for each in rows:
        print(f"{each['name']:<26}{each['value']:>10} {each['unit']:<5}without {each['floor']}, ratio {each['ratio']}")


if __name__ == "__main__":
    main()
