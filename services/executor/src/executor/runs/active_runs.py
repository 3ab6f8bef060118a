"""The runs that this process is working on, and the cancellation of their current step."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

END: Any = object()


class StepCancelled(Exception):
    """The current step is to end at once."""


class StepScope:
    """A worker's scope for the steps of one run. Inside `with scope:` it can be cancelled as `asyncio.timeout` does
    it: the task is cancelled, and the cancellation taken back. No further task is needed for each step."""

    def __init__(self) -> None:
        self.requested = False
        self._task: asyncio.Task[Any] | None = None

    def cancel_step(self) -> None:
        """Now, or as soon as the worker enters its next step."""
        if not self.requested and self._task is not None:
            self._task.cancel()
        self.requested = True

    def __enter__(self) -> None:
        if self.requested:
            self.requested = False
            raise StepCancelled
        self._task = asyncio.current_task()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        task, self._task = self._task, None
        if self.requested and task is not None and kind is asyncio.CancelledError:
            self.requested = False
            if task.uncancel() == 0:  # otherwise the worker itself is cancelled as well
                raise StepCancelled

    async def take_back(self) -> None:
        """The cancellation came together with the awaited item: keep the item, and cancel the next step instead."""
        task = asyncio.current_task()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if task is None or task.uncancel() > 0:
                raise


class ActiveRuns:
    def __init__(self) -> None:
        self._scopes: dict[str, list[StepScope]] = {}

    @contextlib.contextmanager
    def holding(self, run_id: str) -> Iterator[None]:
        """A process that has slept through its own claim may hold a run twice for a while."""
        scope = StepScope()
        self._scopes.setdefault(run_id, []).append(scope)
        try:
            yield
        finally:
            self._scopes[run_id].remove(scope)
            if not self._scopes[run_id]:
                del self._scopes[run_id]

    def cancel_step(self, run_id: str) -> None:
        """Cancel the run's current step; nothing if this process doesn't hold the run."""
        for scope in self._scopes.get(run_id, ()):
            scope.cancel_step()

    async def cancellable(self, run_id: str, source: AsyncIterator[T]) -> AsyncIterator[T]:
        """The items of `source` as they come. Raises StepCancelled in place of the next one when the step is
        cancelled; the work for that item is cancelled too."""
        scope = self._scopes[run_id][-1]
        while True:
            with scope:
                item = await anext(source, END)
            if scope.requested:
                await scope.take_back()
            if item is END:
                return
            yield item
