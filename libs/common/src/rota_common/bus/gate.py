"""A gate: while it isn't set, the consumers behind it take no messages."""

import asyncio
from collections.abc import Callable


class Gate(asyncio.Event):
    """An event whose watchers are called when it is set and when it is cleared."""

    def __init__(self) -> None:
        super().__init__()
        self._watchers: set[Callable[[], None]] = set()

    def watch(self, watcher: Callable[[], None]) -> None:
        self._watchers.add(watcher)

    def set(self) -> None:
        super().set()
        self._changed()

    def clear(self) -> None:
        super().clear()
        self._changed()

    def _changed(self) -> None:
        for watcher in self._watchers:
            watcher()
