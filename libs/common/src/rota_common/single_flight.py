"""Single flight: calls for the same key that overlap share one run and its result."""

import asyncio
from collections.abc import Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass
class SingleFlight(Generic[K, T]):
    """`flights.join(key) or flights.start(key, work())`, then await what is returned."""

    _running: dict[K, "asyncio.Task[T]"] = field(init=False, default_factory=dict)

    def join(self, key: K) -> "asyncio.Future[T] | None":
        """The run under way for this key. Cancelling the returned future leaves the run to the others."""
        task = self._running.get(key)
        return None if task is None else asyncio.shield(task)

    def start(self, key: K, work: Coroutine[Any, Any, T]) -> "asyncio.Future[T]":
        """Run `work`, which goes on although its caller is cancelled. Its failure is raised to each that joined."""
        task = self._running[key] = asyncio.create_task(work)
        task.add_done_callback(lambda done: self._end(key, done))
        return asyncio.shield(task)

    def _end(self, key: K, task: "asyncio.Task[T]") -> None:
        if self._running.get(key) is task:
            del self._running[key]
        if not task.cancelled():
            task.exception()  # or a failure that no caller waits for any more would be reported by the loop
