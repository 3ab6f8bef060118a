"""Running a command's coroutine, with a clean end on Ctrl+C and SIGTERM."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from rota import context
from rota.client import Api

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`. The first SIGINT or SIGTERM cancels it; KeyboardInterrupt once it has cleaned up."""
    return asyncio.run(_until_signalled(work))


def with_api(use: Callable[[Api], Awaitable[T]], *, admin: bool = False) -> T:
    """The result of `use` for the API of the context, with the team's key or the administrator's."""
    given = context.load()
    given.need("url", "admin_key") if admin else given.need("url", "team", "api_key")

    async def use_it() -> T:
        async with Api(given.url, given.team, key=given.admin_key if admin else given.api_key) as api:
            return await use(api)

    return run(use_it())


async def _until_signalled(work: Coroutine[Any, Any, T]) -> T:
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    signals: list[signal.Signals] = []

    def end(which: signal.Signals) -> None:
        signals.append(which)
        if len(signals) == 1:  # a second one must not interrupt the cleanup, which ends in bounded time
            task.cancel()

    for which in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(which, end, which)
    try:
        return await task
    except asyncio.CancelledError:
        if signals:
            raise KeyboardInterrupt from None
        raise
