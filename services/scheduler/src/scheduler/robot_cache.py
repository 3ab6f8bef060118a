"""All robots, in memory: read on start, kept fresh by the bucket's watch, read anew every hour (SC-14, SC-15)."""

import asyncio
import contextlib
from time import monotonic

from pydantic import ValidationError

from rota_common.bus.robots import Robots
from rota_common.runtime.logs import logger
from rota_common.runtime.metrics import ROBOTS
from scheduler.robot_summary import Definition, Key, RobotSummary, read_definition, summary_of
from scheduler.sync_clocks import SyncClocks


class RobotCache:
    """Robots' cards by their keys. Only this module knows how they get here."""

    def __init__(self, robots: Robots, sync_clocks: SyncClocks, *, refresh: float) -> None:
        self._robots, self._sync_clocks, self._refresh = robots, sync_clocks, refresh
        self._summaries: dict[Key, RobotSummary] = {}
        self.loaded = asyncio.Event()
        self._log = logger(service="scheduler")

    async def find(self, team: str, member: str, *, rev: int | None = None) -> RobotSummary | None:
        """The robot, at this revision or a later one if there is one; also one that was deleted.

        What isn't known here, or only in an older revision than the asker's, is read from the bucket. Raises what
        reading raises: a definition that can't be read, or NATS being away.
        """
        summary = self._summaries.get((team, member))
        if summary is not None and (rev is None or summary.rev >= rev):
            return summary
        robot = await self._robots.find(team, member)
        if robot is None:
            return None
        summary = summary_of(robot)
        self._keep(summary)
        return summary

    async def run(self) -> None:
        """Read them all, then follow what changes; again and again, also after the connection was broken."""
        while True:
            await self._follow()

    async def _follow(self) -> None:
        began, seen = monotonic(), set[Key]()
        await self._sync_clocks.begin()
        async with contextlib.aclosing(self._robots.follow(seconds=self._refresh)) as definitions:
            async for text in definitions:
                if text is None:
                    self._all_read(seen, monotonic() - began)
                elif definition := self._read(text):
                    summary = summary_of(definition)
                    seen.add(summary.key)
                    self._sync_clocks.note(summary, definition.robot_config.clock)
                    self._keep(summary)

    def _all_read(self, seen: set[Key], seconds: float) -> None:
        """What the bucket doesn't hold any more is forgotten."""
        for key in self._summaries.keys() - seen:
            del self._summaries[key]
        self._sync_clocks.all_noted()
        ROBOTS.set(len(self._summaries))
        self._log.info("robots are known", robots=len(self._summaries), seconds=round(seconds, 2))
        self.loaded.set()

    def _read(self, text: bytes) -> Definition | None:
        try:
            return read_definition(text)
        except ValidationError as error:  # whoever asks for this robot reads it again, and gets the error
            self._log.warning("a robot's definition can't be read", error=str(error))
            return None

    def _keep(self, summary: RobotSummary) -> None:
        stored = self._summaries.get(summary.key)
        if stored is None or stored.rev < summary.rev:
            self._summaries[summary.key] = summary
