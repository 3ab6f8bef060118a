"""A floor and Rota by turns: time of a run, runs per second, CPU of a run."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

Once = Callable[[], Awaitable[float]]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Load:
    """The work of one round."""

    rounds: int
    latency_runs: int
    rate_runs: int
    in_flight: int


@dataclass(frozen=True)
class Side:
    """What does one run, and the processes that work for it."""

    once: Once
    pids: Callable[[], Collection[int]]


@dataclass(frozen=True)
class Rows:
    """The names of the figures."""

    latency: str
    rate: str
    cpu: str


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


async def by_turns(floor: Side, rota: Side, load: Load, rows: Rows) -> list[dict[str, Any]]:
    """Medians over the rounds: ms one at a time; with many in flight runs per second, and ms of CPU for each."""
    sides = {"floor": floor, "rota": rota}
    seen: dict[str, list[float]] = {f"{side}_{part}": [] for part in ("ms", "rate", "cpu") for side in sides}
    for number in range(1, load.rounds + 1):
        for side, each in sides.items():
            seen[f"{side}_ms"].append(await one_at_a_time(each.once, load.latency_runs) * 1000)
        for side, each in sides.items():
            before = cpu_s(each.pids())
            seen[f"{side}_rate"].append(await in_flight(each.once, load.rate_runs, load.in_flight))
            seen[f"{side}_cpu"].append((cpu_s(each.pids()) - before) / load.rate_runs * 1000)
        figures = ", ".join(f"{name} {values[-1]:.4g}" for name, values in seen.items())
        print(f"{rows.rate}, round {number} of {load.rounds}: {figures}", flush=True)
    middle = {name: median(values) for name, values in seen.items()}
    return [
        row(rows.latency, middle["rota_ms"], "ms", middle["floor_ms"]),
        row(rows.rate, middle["rota_rate"], "1/s", middle["floor_rate"]),
        row(rows.cpu, middle["rota_cpu"], "ms", middle["floor_cpu"]),
    ]


def row(name: str, value: float, unit: str, floor: float) -> dict[str, Any]:
    figure = {"name": name, "value": round(value, 2), "unit": unit, "floor": round(floor, 2)}
    return figure | {"ratio": round(value / floor, 3)}


def cpu_s(pids: Collection[int]) -> float:
    """Seconds of CPU that these processes have taken since they began."""
    return sum(_ticks(pid) for pid in pids) / TICKS_PER_S


def _ticks(pid: int) -> int:
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(after_name[11]) + int(after_name[12])  # utime and stime
