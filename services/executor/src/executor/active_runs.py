"""The runs that this process works on just now, and a way to interrupt what it is doing for one of them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

END: Any = object()


class StepCancelled(Exception):
    """Somebody wants the step to end at once."""


class StepScope:
    """A worker with a run. It can be interrupted inside `with hand:`, as `asyncio.timeout` does it: its task is
    cancelled, and that is taken back. No further task is needed for each step."""

    def __init__(self) -> None:
        self.wanted = False
        self._task: asyncio.Task[Any] | None = None

    def interrupt(self) -> None:
        """Now, or as soon as the worker can be interrupted."""
        if not self.wanted and self._task is not None:
            self._task.cancel()
        self.wanted = True

    def __enter__(self) -> None:
        if self.wanted:
            self.wanted = False
            raise StepCancelled
        self._task = asyncio.current_task()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        task, self._task = self._task, None
        if self.wanted and task is not None and kind is asyncio.CancelledError:
            self.wanted = False
            if task.uncancel() == 0:  # otherwise somebody else ends the worker as well
                raise StepCancelled

    async def take_back(self) -> None:
        """The interruption came together with what was waited for: that is kept, and the next step interrupted."""
        task = asyncio.current_task()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if task is None or task.uncancel() > 0:
                raise


class ActiveRuns:
    def __init__(self) -> None:
        self._held: dict[str, list[StepScope]] = {}

    @contextlib.contextmanager
    def holding(self, run_id: str) -> Iterator[None]:
        """A process that has slept through its own claim may hold a run twice for a while."""
        hand = StepScope()
        self._held.setdefault(run_id, []).append(hand)
        try:
            yield
        finally:
            self._held[run_id].remove(hand)
            if not self._held[run_id]:
                del self._held[run_id]

    def interrupt(self, run_id: str) -> None:
        """End the step in hand; nothing if this process doesn't hold the run."""
        for hand in self._held.get(run_id, ()):
            hand.interrupt()

    async def interruptible(self, run_id: str, source: AsyncIterator[T]) -> AsyncIterator[T]:
        """The items of `source` as they come. Raises Interrupted in place of the next one when somebody interrupts;
        what was being done for it is cancelled."""
        hand = self._held[run_id][-1]
        while True:
            with hand:
                item = await anext(source, END)
            if hand.wanted:
                await hand.take_back()
            if item is END:
                return
            yield item
