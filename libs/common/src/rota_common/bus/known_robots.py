"""Robots' definitions from memory: those in use, kept up to date by the bucket's watch."""

import contextlib
import math
import sys
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from rota_common.bus.connection import Bus
from rota_common.bus.robots import Robots
from rota_contracts.robots.robot import Robot

LIMIT = 20_000_000
"""Bytes of a service's definitions in memory: of the three that keep some, 60 MB in one process."""

KEEP_S = 60.0
"""Seconds after which a definition is read again, whatever the watch says: it shows nothing of a removed team."""

ENTRY = 500
"""Bytes of an entry besides its definition."""

Key = tuple[str, str]


class DefinitionMemory:
    """Definitions within `limit` bytes. The team that holds the most makes room, with what it hasn't used for the
    longest time: no team's definitions push out those of a team that holds less."""

    def __init__(self, limit: int, *, clock: Callable[[], float] = monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._teams: dict[str, OrderedDict[str, tuple[Robot, int, float]]] = {}
        self._held: dict[str, int] = {}

    @property
    def size(self) -> int:
        return sum(self._held.values())

    def get(self, key: Key) -> Robot | None:
        """The definition, unless it was put here more than KEEP_S ago."""
        team, member = key
        robots = self._teams.get(team, OrderedDict())
        if member not in robots:
            return None
        robot, _, until = robots[member]
        if until < self._clock():
            return None
        robots.move_to_end(member)
        return robot

    def put(self, key: Key, robot: Robot) -> None:
        self.drop(key)
        team, member = key
        size = footprint(robot) + ENTRY
        if size > self._limit:
            return
        self._teams.setdefault(team, OrderedDict())[member] = robot, size, self._clock() + KEEP_S
        self._held[team] = self._held.get(team, 0) + size
        while self.size > self._limit:
            largest = max(self._held, key=lambda each: self._held[each])
            self.drop((largest, next(iter(self._teams[largest]))))

    def drop(self, key: Key) -> None:
        team, member = key
        robots = self._teams.get(team, OrderedDict())
        if member in robots:
            self._held[team] -= robots.pop(member)[1]
        if not robots:
            self._teams.pop(team, None)
            self._held.pop(team, None)

    def clear(self) -> None:
        self._teams.clear()
        self._held.clear()


class KnownRobots(Robots):
    """`known` reads the bucket alone for what isn't in memory; `keep_current` is a loop of the service."""

    def __init__(self, bus: Bus, *, limit: int = LIMIT) -> None:
        super().__init__(bus)
        self._memory = DefinitionMemory(limit)
        self._watched: int | None = None
        """The connection whose watch keeps the memory current, by its number; None: it isn't."""
        self._reading: dict[Key, object] = {}
        """What is being read of the bucket; a change of it meanwhile takes it out."""

    async def known(self, team: str, member: str, *, rev: int | None = None) -> Robot | None:
        """The robot as the watch has it, at this revision or a later one if there is one; also a deleted one."""
        key = team, member
        robot = self._memory.get(key) if self._current else None
        if robot is not None and robot.rev >= (rev or 0):
            return robot
        mark = self._reading.setdefault(key, object())
        try:
            robot = await self.find(team, member)
            if robot is not None and self._current and self._reading.get(key) is mark:
                self._put(key, robot)
        finally:
            if self._reading.get(key) is mark:
                del self._reading[key]
        return robot

    async def keep_current(self) -> bool:
        """Follow the changes until the connection is interrupted, and then forget all: one may have been lost. Always
        True."""
        try:
            async with contextlib.aclosing(self.follow(seconds=math.inf, stored=False)) as changes:
                async for text in changes:
                    if text is None:
                        self._watched = self._connection
                    else:
                        self._change(text)
        finally:
            self._watched = None
            self._reading.clear()
            self._memory.clear()
        return True

    @property
    def _connection(self) -> int:
        return int(self._bus.client.stats["reconnects"])

    @property
    def _current(self) -> bool:
        return self._bus.connected and self._watched == self._connection

    def _change(self, text: bytes) -> None:
        """Take the definition from the watch, because a reading may come from a replica of the bucket that is behind;
        of robots alone that are in use here."""
        try:
            head = from_json(text)
            key = head["team_id"], head["member_id"]
        except (ValueError, LookupError, TypeError):  # no definition, and of any robot
            self._reading.clear()
            self._memory.clear()
            return
        in_use = self._reading.pop(key, None) is not None or self._memory.get(key) is not None
        self._memory.drop(key)
        if in_use:
            with contextlib.suppress(ValidationError):  # a reading raises it
                self._memory.put(key, Robot.model_validate_json(text))

    def _put(self, key: Key, robot: Robot) -> None:
        """A reading may be older than what the watch brought before it."""
        there = self._memory.get(key)
        if there is None or there.rev <= robot.rev:
            self._memory.put(key, robot)


def footprint(robot: Robot) -> int:
    """The bytes that a definition takes in memory: many times those of its JSON, where that has many small parts."""
    total, seen, left = 0, set[int](), list[Any]([robot])
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
