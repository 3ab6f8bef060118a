"""Definitions in memory, within a limit of bytes that teams share fairly."""

import sys
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

KEEP_S = 60.0
"""Seconds after which a definition is read again, whatever the watch says: it shows nothing of a removed team."""

ENTRY = 500
"""Bytes of an entry besides its definition."""

Key = tuple[str, str]
"""The team, and the name of something of it."""

T = TypeVar("T")


class DefinitionMemory(Generic[T]):
    """Definitions within `limit` bytes. The team that holds the most makes room, with what it hasn't used for the
    longest time: no team's definitions push out those of a team that holds less.

    `size_of`: bytes of a definition in memory. `keep_s`: seconds after which it has to be read again."""

    def __init__(
        self,
        limit: int,
        *,
        size_of: Callable[[T], int] | None = None,
        keep_s: float = KEEP_S,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._limit, self._keep_s = limit, keep_s
        self._size_of, self._clock = size_of or footprint, clock
        self._teams: dict[str, OrderedDict[str, tuple[T, int, float]]] = {}
        self._held: dict[str, int] = {}

    @property
    def size(self) -> int:
        return sum(self._held.values())

    def get(self, key: Key) -> T | None:
        """The definition, unless it was put here too long ago."""
        team, member = key
        mine = self._teams.get(team, OrderedDict())
        if member not in mine:
            return None
        found, _, until = mine[member]
        if until < self._clock():
            return None
        mine.move_to_end(member)
        return found

    def put(self, key: Key, value: T) -> None:
        self.drop(key)
        team, member = key
        size = self._size_of(value) + ENTRY
        if size > self._limit:
            return
        self._teams.setdefault(team, OrderedDict())[member] = value, size, self._clock() + self._keep_s
        self._held[team] = self._held.get(team, 0) + size
        while self.size > self._limit:
            largest = max(self._held, key=lambda each: self._held[each])
            self.drop((largest, next(iter(self._teams[largest]))))

    def drop(self, key: Key) -> None:
        team, member = key
        mine = self._teams.get(team, OrderedDict())
        if member in mine:
            self._held[team] -= mine.pop(member)[1]
        if not mine:
            self._teams.pop(team, None)
            self._held.pop(team, None)

    def clear(self) -> None:
        self._teams.clear()
        self._held.clear()


def footprint(definition: object) -> int:
    """The bytes that a definition takes in memory: many times those of its JSON, where that has many small parts."""
    total, seen, left = 0, set[int](), list[Any]([definition])
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        total += sys.getsizeof(part)
        if isinstance(part, BaseModel):
            left += (part.__dict__, part.__pydantic_fields_set__)
        elif isinstance(part, dict):
            left += (*part.keys(), *part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            left += part
    return total
