"""The cache of all robots: read at start, kept up to date by the bucket's watch, read anew every hour."""

import asyncio
import contextlib
from collections.abc import Collection
from dataclasses import dataclass, field
from time import monotonic

from pydantic import ValidationError

from rota_common.runtime.logs import logger
from rota_common.runtime.metrics import ROBOTS
from scheduler.clocks.sync_clocks import SyncClocks
from scheduler.domain.robot_summary import Definition, Key, RobotSummary, read_definition, summary_of
from scheduler.ports import RobotDefinitions

_log = logger(service="scheduler")


@dataclass(kw_only=True)
class RobotCache:
    """Robots' summaries by their keys. `refresh`: seconds after which all are read anew."""

    definitions: RobotDefinitions
    sync_clocks: SyncClocks
    refresh: float
    loaded: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _summaries: dict[Key, RobotSummary] = field(default_factory=dict, init=False)

    async def find(self, team: str, member: str, *, rev: int | None = None) -> RobotSummary | None:
        """The robot, at this revision or a later one if there is one; also a deleted one.

        A robot that isn't cached, or only at an older revision, is read from the bucket. Raises what reading raises: an
        invalid definition, or NATS being away.
        """
        summary = self._summaries.get((team, member))
        if summary is not None and (rev is None or summary.rev >= rev):
            return summary
        robot = await self.definitions.find(team, member)
        if robot is None:
            return None
        summary = summary_of(robot)
        self._put(summary)
        return summary

    async def stopped(self, keys: Collection[Key]) -> set[Key]:
        """Those of these robots at which nothing new may start; one that can't be read is among them."""
        unknown = [key for key in keys if key not in self._summaries]
        await asyncio.gather(*(self.find(*key) for key in unknown), return_exceptions=True)
        found = {key: self._summaries.get(key) for key in keys}
        return {key for key, summary in found.items() if summary is None or not summary.active}

    async def follow(self) -> bool:
        """Read all definitions, then follow the changes until it is time to begin anew; always True."""
        began, seen = monotonic(), set[Key]()
        await self.sync_clocks.begin_reading()
        async with contextlib.aclosing(self.definitions.follow(seconds=self.refresh)) as definitions:
            async for text in definitions:
                if text is None:
                    self._all_read(seen, monotonic() - began)
                elif definition := self._read(text):
                    summary = summary_of(definition)
                    seen.add(summary.key)
                    self.sync_clocks.note(summary, definition.robot_config.clock)
                    self._put(summary)
        return True

    def _all_read(self, seen: set[Key], seconds: float) -> None:
        """Robots that the bucket doesn't hold any more are dropped."""
        for key in self._summaries.keys() - seen:
            del self._summaries[key]
        self.sync_clocks.end_reading()
        ROBOTS.set(len(self._summaries))
        _log.info("robots loaded", robots=len(self._summaries), seconds=round(seconds, 2))
        self.loaded.set()

    def _read(self, text: bytes) -> Definition | None:
        try:
            return read_definition(text)
        except ValidationError as error:  # a lookup of this robot reads it again, and raises
            _log.warning("a robot's definition is invalid", error=str(error))
            return None

    def _put(self, summary: RobotSummary) -> None:
        cached = self._summaries.get(summary.key)
        if cached is None or cached.rev < summary.rev:
            self._summaries[summary.key] = summary
