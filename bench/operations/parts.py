"""The parts of the measurement, in their order: each returns its figures."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bench.operations.arithmetic import growth
from bench.operations.kept import Kept
from bench.operations.load import WARM_S, highest, steady
from bench.operations.recovery import RATE, recovery
from bench.operations.replicas import replicas
from bench.operations.robots import robots
from bench.operations.storage import sizes
from bench.operations.usage import watched
from tests.containers.harness import World
from tests.containers.project import LONG_RUNNING

TEN = 10.0
START_S, UPGRADE_S = 120.0, 180.0
DRAIN_S, SCALE_S, KILL_S, SIZES_S, CREATE_A_SECOND = 15.0, 45.0, 9.0, 40.0, 20.0
"""What each takes beside the measuring itself, for the estimate."""


@dataclass(frozen=True)
class Times:
    """Seconds, and numbers of what takes seconds."""

    steady: float = 300.0
    idle: float = 60.0
    settle: float = 20.0
    highest: float = 60.0
    replicas: float = 45.0
    results: int = 15
    """Before each kill."""

    robots: int = 500


QUICK = Times(steady=10, idle=6, settle=3, highest=12, replicas=12, results=3, robots=40)


@dataclass(frozen=True)
class Bench:
    world: World
    kept: Kept
    times: Times

    def highest_rate(self) -> float:
        return float(self._needed("highest")["rate"])

    def executor_used(self) -> float:
        return float(self._needed("highest")["services"]["executor"]["cores"])

    def _needed(self, name: str) -> dict[str, Any]:
        if name not in self.kept.parts:
            raise RuntimeError(f"it needs the figures of the part {name}")
        found: dict[str, Any] = self.kept.parts[name]
        return found


async def _idle(bench: Bench) -> dict[str, Any]:
    await asyncio.sleep(bench.times.settle)
    async with watched(bench.world.project) as usage:
        await asyncio.sleep(bench.times.idle)
    return usage.shown()


async def _highest(bench: Bench) -> dict[str, Any]:
    return await highest(bench.world, bench.times.highest)


async def _ten(bench: Bench) -> dict[str, Any]:
    """Each starts a run if nine tenths of the highest rate are that much; else so many as are half of that rate."""
    rate = bench.highest_rate()
    starting = 1.0 if 0.9 * rate >= TEN else 0.5 * rate / TEN
    return await steady(bench.world, TEN, bench.times.steady, starting=starting)


async def _half(bench: Bench) -> dict[str, Any]:
    before = await sizes(bench.world.project)
    found = await steady(bench.world, 0.5 * bench.highest_rate(), bench.times.steady)
    stored = growth(before, await sizes(bench.world.project), max(1, found["completed"]) / 1000)
    return {**found, "stored_per_1000": stored}


async def _most(bench: Bench) -> dict[str, Any]:
    return await steady(bench.world, 0.9 * bench.highest_rate(), bench.times.steady)


async def _replicas(bench: Bench) -> dict[str, Any]:
    return await replicas(bench.world, bench.times.replicas, bench.executor_used())


async def _recovery(bench: Bench) -> dict[str, Any]:
    return await recovery(bench.world, bench.times.results)


async def _robots(bench: Bench) -> dict[str, Any]:
    await asyncio.sleep(bench.times.settle)
    return await robots(bench.world, bench.times.robots, bench.times.settle)


@dataclass(frozen=True)
class Part:
    name: str
    does: str
    estimate: Callable[[Times], float]
    work: Callable[[Bench], Awaitable[dict[str, Any]]]


IN_CONTAINERS = (
    Part("idle", "nothing happens", lambda times: times.settle + times.idle, _idle),
    Part("highest", "as many runs as are held", lambda times: WARM_S + times.highest + DRAIN_S, _highest),
    Part("ten", "ten events a second", lambda times: times.steady + DRAIN_S, _ten),
    Part("half", "half of the highest rate; what it stores", lambda times: times.steady + DRAIN_S, _half),
    Part("most", "nine tenths of the highest rate", lambda times: times.steady + DRAIN_S, _most),
    Part(
        "replicas",
        "one limited executor, and two",
        lambda times: 2 * (WARM_S + times.replicas + DRAIN_S) + 2 * SCALE_S,
        _replicas,
    ),
    Part(
        "recovery",
        "a kill of each container",
        lambda times: len(LONG_RUNNING) * (KILL_S + times.results / RATE),
        _recovery,
    ),
    Part("robots", "many robots", lambda times: 2 * times.settle + SIZES_S + times.robots / CREATE_A_SECOND, _robots),
)
UPGRADE = "upgrade"
"""The part that starts servers of its own, after the containers are gone."""

NAMES = (*[part.name for part in IN_CONTAINERS], UPGRADE)


def estimate(names: tuple[str, ...], times: Times) -> float:
    """Seconds of these parts, with the start of the containers."""
    inside = [part.estimate(times) for part in IN_CONTAINERS if part.name in names]
    return (START_S + sum(inside) if inside else 0.0) + (UPGRADE_S if UPGRADE in names else 0.0)
