"""A replica: the real scheduler in a process of its own, whose clock is a file that the driver writes."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from rota_common.runtime import logs
from rota_common.runtime.service import Runtime
from scheduler.app import build
from scheduler.settings import Settings
from tests.clock_year.shared_clock import SharedClock

FETCH_S = 0.5
POLL_S = 1.0


def run(clock: str, started: Callable[[], object]) -> None:
    """Until this process is killed, or its parent has ended."""
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    asyncio.run(_run(SharedClock(Path(clock)), started))


async def _run(clock: SharedClock, started: Callable[[], object]) -> None:
    settings = Settings()
    logs.configure(level=settings.log_level)
    app = build(settings, runtime=Runtime(clock=clock))
    await app.service.start()
    await app.service.started.wait()
    started()
    await asyncio.Event().wait()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_S)
    os._exit(0)
