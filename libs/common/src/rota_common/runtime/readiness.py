"""Readiness as metrics show it, and the services of this process that run: all seven in `rota up`."""

from collections.abc import Mapping
from typing import Protocol
from weakref import WeakSet

from rota_common.runtime.metrics import DEPENDENCY_UP, READY


class Running(Protocol):
    async def problems(self) -> dict[str, str]: ...


RUNNING: WeakSet[Running] = WeakSet()
"""Those that are started and not stopped."""


def show(service: str, *, ready: bool, dependencies: Mapping[str, bool] | None = None) -> None:
    """`dependencies`: the service's servers, and whether each answers."""
    READY.labels(service).set(ready)
    for name, answers in (dependencies or {}).items():
        DEPENDENCY_UP.labels(service, name).set(answers)
