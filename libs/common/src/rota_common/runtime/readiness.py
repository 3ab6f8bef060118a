"""Readiness as metrics show it, and the services of this process that run: all seven in `rota up`."""

from collections.abc import Collection
from typing import Protocol
from weakref import WeakSet

from rota_common.runtime.metrics import DEPENDENCY_UP, READY


class Running(Protocol):
    name: str

    async def problems(self) -> dict[str, str]: ...


RUNNING: WeakSet[Running] = WeakSet()
"""Those that are started and not stopped."""


def stopped(service: Running) -> None:
    RUNNING.discard(service)
    READY.labels(service.name).set(0)


def show(service: str, problems: Collection[str], *, dependencies: Collection[str]) -> None:
    """`problems`: the parts that are missing, among them maybe servers of `dependencies`."""
    READY.labels(service).set(not problems)
    for name in dependencies:
        DEPENDENCY_UP.labels(service, name).set(name not in problems)
