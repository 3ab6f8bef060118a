"""Current values of a bucket from memory: those in use, kept up to date by the bucket's watch."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from rota_common.bus.connection import Bus
from rota_common.bus.definition_memory import DefinitionMemory, Key
from rota_contracts.definitions.definition import DefinitionSet
from rota_contracts.robots.robot import Robot

T = TypeVar("T", bound=Robot | DefinitionSet)
Find = Callable[[str, str], Awaitable[T | None]]


class Followed(Generic[T]):
    """`known` asks `find` alone for what isn't in memory; `keep_current` is a loop of the service.

    `parse` raises ValidationError. `key_of`: the key of what a JSON document of the bucket describes.
    """

    def __init__(
        self, bus: Bus, parse: Callable[[bytes], T], *, limit: int, find: Find[T], key_of: Callable[[Any], Key]
    ) -> None:
        self._bus = bus
        self._parse = parse
        self._find = find
        self._key_of = key_of
        self._memory = DefinitionMemory[T](limit)
        self._watched: int | None = None
        """The connection whose watch keeps the memory current, by its number; None: it isn't."""
        self._reading: dict[Key, object] = {}
        """What is being read of the bucket; a change of it meanwhile takes it out."""

    @property
    def current(self) -> bool:
        """True while the watch keeps the memory current."""
        return self._bus.connected and self._watched == self._connection

    async def known(self, key: Key, *, rev: int = 0) -> T | None:
        """What the watch has, at this revision or a later one if there is one."""
        found = self._memory.get(key) if self.current else None
        if found is not None and found.rev >= rev:
            return found
        mark = self._reading.setdefault(key, object())
        try:
            found = await self._find(*key)
            if found is not None and self.current and self._reading.get(key) is mark:
                self._put(key, found)
        finally:
            if self._reading.get(key) is mark:
                del self._reading[key]
        return found

    async def keep_current(self, changes: AsyncGenerator[bytes | None]) -> None:
        """Follow these changes to their end, which comes with an interruption of the connection, and then forget all:
        one may have been lost."""
        try:
            async with contextlib.aclosing(changes):
                async for text in changes:
                    if text is None:
                        self._watched = self._connection
                    else:
                        self._change(text)
        finally:
            self._watched = None
            self._reading.clear()
            self._memory.clear()

    @property
    def _connection(self) -> int:
        return int(self._bus.client.stats["reconnects"])

    def _change(self, text: bytes) -> None:
        """Take the value from the watch, because a reading may come from a replica of the bucket that is behind; of
        those alone that are in use here."""
        try:
            key = self._key_of(from_json(text))
        except (ValueError, LookupError, TypeError):  # no such value, and of any key
            self._reading.clear()
            self._memory.clear()
            return
        in_use = self._reading.pop(key, None) is not None or self._memory.get(key) is not None
        self._memory.drop(key)
        if in_use:
            with contextlib.suppress(ValidationError):  # a reading raises it
                self._memory.put(key, self._parse(text))

    def _put(self, key: Key, found: T) -> None:
        """A reading may be older than what the watch brought before it."""
        there = self._memory.get(key)
        if there is None or there.rev <= found.rev:
            self._memory.put(key, found)
