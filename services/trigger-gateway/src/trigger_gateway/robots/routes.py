"""Routes from sources to the robots that subscribe: the webhook's hot path, so they are cached for a moment.

A cached route is at most `KEPT_FOR` old. It is dropped at once when this replica changes a robot or a source of the
team, and on the event that another replica has changed a robot. An unknown source is never cached, so a new one works
at once everywhere. The effect of a stale route: a source just removed on another replica is accepted for 2 s more, and
a robot just deleted there gets a trigger, which the scheduler refuses visibly.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from rota_common.clock import Clock
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.robots.record import Subscriber
from trigger_gateway.sources.ports import Sources
from trigger_gateway.sources.source import Source

KEPT_FOR = timedelta(seconds=2)
KEPT_TEAMS = 10_000


@dataclass(frozen=True)
class Route:
    source: Source
    subscribers: tuple[Subscriber, ...]


@dataclass(frozen=True)
class _Kept:
    until: datetime
    loading: asyncio.Task[Route | None]


@dataclass(kw_only=True)
class Routes:
    """Concurrent requests for a route share one look-up."""

    sources: Sources
    robots: RobotRecords
    clock: Clock
    _kept: OrderedDict[str, dict[str, _Kept]] = field(init=False, default_factory=OrderedDict)

    async def find(self, team: str, source: str) -> Route | None:
        """None if the team has no such source."""
        routes = self._of_team(team)
        kept = routes.get(source)
        if kept is None or kept.until <= self.clock():
            kept = _Kept(self.clock() + KEPT_FOR, asyncio.create_task(self._load(team, source)))
            routes[source] = kept
        try:
            # The cancellation of one request must not end the look-up of the others.
            route = await asyncio.shield(kept.loading)
        except Exception:
            self._drop(team, source, kept)
            raise
        if route is None:
            self._drop(team, source, kept)
        return route

    def forget(self, team: str) -> None:
        """Drop the team's routes, because a robot or a source has changed. A look-up under way may be stale: it too."""
        self._kept.pop(team, None)

    def _of_team(self, team: str) -> dict[str, _Kept]:
        routes = self._kept.setdefault(team, {})
        self._kept.move_to_end(team)
        if len(self._kept) > KEPT_TEAMS:
            self._kept.popitem(last=False)
        return routes

    def _drop(self, team: str, source: str, kept: _Kept) -> None:
        routes = self._kept.get(team, {})
        if routes.get(source) is kept:
            del routes[source]
            if not routes:  # or guessed names would crowd out the real ones
                del self._kept[team]

    async def _load(self, team: str, source: str) -> Route | None:
        found = await self.sources.find(team, source)
        if found is None:
            return None
        return Route(found, tuple(await self.robots.subscribers(team, source, kind=found.kind)))
