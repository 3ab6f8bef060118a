"""The runs that this process works on just now, and a way to interrupt what it is doing for one of them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import TypeVar

T = TypeVar("T")


class Interrupted(Exception):
    """Somebody wants the step to end at once."""


class Hands:
    def __init__(self) -> None:
        self._stops: dict[str, asyncio.Event] = {}

    @contextlib.contextmanager
    def holding(self, run_id: str) -> Iterator[None]:
        stop = self._stops[run_id] = asyncio.Event()
        try:
            yield
        finally:
            if self._stops.get(run_id) is stop:  # not that of another claim, taken after this one had ended
                del self._stops[run_id]

    def interrupt(self, run_id: str) -> None:
        """End the step in hand; nothing if this process doesn't hold the run."""
        if stop := self._stops.get(run_id):
            stop.set()

    async def interruptible(self, run_id: str, source: AsyncIterator[T]) -> AsyncIterator[T]:
        """The items of `source` as they come. Raises Interrupted in place of the next one when somebody interrupts;
        what was being done for it is cancelled."""
        stop = self._stops.get(run_id) or asyncio.Event()
        stopping = asyncio.create_task(stop.wait())
        try:
            while True:
                coming = asyncio.create_task(_next(source))
                await _either(coming, stopping)
                if not coming.done():
                    await _cancelled(coming)
                    stop.clear()
                    raise Interrupted
                found = coming.result()
                if not found:
                    return
                yield found[0]
        finally:
            stopping.cancel()


def _next(source: AsyncIterator[T]) -> Coroutine[None, None, list[T]]:
    """The next item in a list, or an empty list at the end: a task can't end with StopAsyncIteration."""

    async def found() -> list[T]:
        async for item in source:
            return [item]
        return []

    return found()


async def _either(coming: asyncio.Task[list[T]], stopping: asyncio.Task[bool]) -> None:
    try:
        await asyncio.wait({coming, stopping}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await _cancelled(coming)
        raise


async def _cancelled(task: asyncio.Task[list[T]]) -> None:
    task.cancel()
    await asyncio.wait([task])
