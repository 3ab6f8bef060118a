"""The use of containers, this process and the whole machine while a block runs."""

import asyncio
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.containers.harness import aside
from tests.containers.project import LONG_RUNNING, Project, own_memory

EVERY_S = 5.0
NS = 1e9
STAT = Path("/proc/stat")
IDLE = (3, 4)
"""Fields of the line `cpu` of /proc/stat: idle, and waiting for a disk."""


@dataclass
class Usage:
    """`by_service`: MiB at the end, the highest of the samples, and the processor as a share of one core; replicas
    together. `generator`, `machine`: cores that this process and the whole machine used."""

    seconds: float = 0.0
    by_service: dict[str, dict[str, float]] = field(default_factory=dict)
    generator: float = 0.0
    machine: float | None = None

    def shown(self) -> dict[str, Any]:
        return {
            "seconds": self.seconds,
            "services": self.by_service,
            "generator_cores": self.generator,
            "machine_cores": self.machine,
        }


@asynccontextmanager
async def watched(project: Project) -> AsyncIterator[Usage]:
    """Filled when the block is over."""
    containers = [(name, one) for name, one in await aside(project.containers) if name in LONG_RUNNING]
    usage, peaks, first = Usage(), dict[str, float](), await aside(_read, containers)
    began, own, machine = time.monotonic(), time.process_time(), _machine_s()
    sampling = asyncio.create_task(_sample(containers, peaks))
    try:
        yield usage
    finally:
        usage.seconds = time.monotonic() - began
        usage.generator = (time.process_time() - own) / usage.seconds
        if machine is not None and (now := _machine_s()) is not None:
            usage.machine = (now - machine) / usage.seconds
        sampling.cancel()
        await asyncio.wait([sampling])
    for name, figures in _by_service(first, await aside(_read, containers)).items():
        usage.by_service[name] = {**figures, "peak_mib": max(figures["mib"], peaks.get(name, 0.0))}


async def _sample(containers: list[tuple[str, Any]], peaks: dict[str, float]) -> None:
    while True:
        await asyncio.sleep(EVERY_S)
        read = await aside(_read, containers)
        for name, figures in _by_service(read, read).items():
            peaks[name] = max(figures["mib"], peaks.get(name, 0.0))


@dataclass(frozen=True)
class Reading:
    """Of one container, at an instant of the engine's clock: seconds of the processor since its start, and MiB."""

    service: str
    at: datetime
    cpu_s: float
    mib: float


def _read(containers: list[tuple[str, Any]]) -> list[Reading]:
    """All at once: the engine takes a second for each."""
    with ThreadPoolExecutor(len(containers)) as threads:
        return list(threads.map(lambda each: _reading(*each), containers))


def _reading(service: str, container: Any) -> Reading:
    stats = container.client.api.stats(container.id, stream=False, one_shot=True)
    cpu_s = stats["cpu_stats"]["cpu_usage"]["total_usage"] / NS
    return Reading(service, datetime.fromisoformat(stats["read"]), cpu_s, own_memory(stats))


def _by_service(first: list[Reading], last: list[Reading]) -> dict[str, dict[str, float]]:
    """Of each service, its replicas together, from the first reading to the last."""
    found = defaultdict[str, dict[str, float]](lambda: {"mib": 0.0, "cores": 0.0})
    for before, after in zip(first, last, strict=True):
        seconds = (after.at - before.at).total_seconds()
        found[after.service]["mib"] += after.mib
        found[after.service]["cores"] += (after.cpu_s - before.cpu_s) / seconds if seconds else 0.0
    return dict(found)


def _machine_s() -> float | None:
    """Seconds that all cores together have worked; None where the system doesn't say."""
    if not STAT.exists():
        return None
    ticks = [int(each) for each in STAT.read_text().splitlines()[0].split()[1:9]]
    return sum(each for index, each in enumerate(ticks) if index not in IDLE) / float(os.sysconf("SC_CLK_TCK"))
