"""Long runs: programs that start processes in a folder of their own and end them, however they end themselves."""

import asyncio
import logging
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

Work = Callable[[Path], Coroutine[Any, Any, bool]]


def run_in_folder(prefix: str, work: Work, *, keep: bool) -> bool:
    """The result of `work` in a new folder, which is removed after a good run unless `keep`; otherwise its path is
    printed to standard error. SIGTERM cancels `work`, so that it can end its processes."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # connections that a kill breaks off
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    good = False
    try:
        good = asyncio.run(_cancelled_by_sigterm(work(folder)))
    finally:
        if good and not keep:
            shutil.rmtree(folder)
        else:
            sys.stderr.write(f"the logs are kept in {folder}\n")
    return good


async def _cancelled_by_sigterm(work: Coroutine[Any, Any, bool]) -> bool:
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work
