"""The gateway's loops beside the requests: telling what was not told, and hearing what other replicas changed."""

import asyncio
from collections.abc import Awaitable, Callable

from rota_common.bus.live import LiveEvents
from rota_contracts.catalog import ROBOT_CHANGED, ROBOT_DELETED
from trigger_gateway.robots.routes import Routes
from trigger_gateway.robots.sync_robots import SyncRobots

Loop = Callable[[], Awaitable[None]]


def sweeping(sync: SyncRobots, *, interval: float) -> Loop:
    """Every `interval` seconds, what was saved and not told; at once again while there is more."""

    async def loop() -> None:
        while True:
            if not await sync.sweep():
                await asyncio.sleep(interval)

    return loop


def forgetting(watch: LiveEvents, routes: Routes) -> Loop:
    """Drop what is kept in memory about a team whenever one of its robots has changed, whoever changed it."""

    async def loop() -> None:
        async with watch.listen((ROBOT_CHANGED, ROBOT_DELETED)) as heard:
            while True:
                routes.forget((await heard.next()).data.team_id)

    return loop
