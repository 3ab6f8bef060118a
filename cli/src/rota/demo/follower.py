"""The live events of the demo's team, shown on the screen."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from rota.client import Api
from rota.demo.screen import Screen
from rota_contracts.catalog import EXECUTION_FINISHED

GRACE_S = 3
SILENCE_S = 20.0
"""Seconds without an event after which the screen says that the model's answer is awaited."""


class Follower:
    """Tracks which runs the stream has shown to their end."""

    def __init__(self) -> None:
        self._finished: dict[str, asyncio.Event] = {}
        self._last = time.monotonic()

    async def until_shown(self, execution_id: str) -> bool:
        """Wait briefly for the last event of a finished run; False if it did not arrive."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._of(execution_id).wait(), GRACE_S)
        return self._of(execution_id).is_set()

    async def follow(self, api: Api, screen: Screen) -> None:
        async for event in api.events({}):
            self._last = time.monotonic()
            screen.event(event)
            if event.get("type") == EXECUTION_FINISHED.type:
                self._of(str(event["data"]["execution_id"])).set()

    async def say_what_is_awaited(self, screen: Screen) -> None:
        while True:
            await asyncio.sleep(SILENCE_S)
            silent = time.monotonic() - self._last
            if silent >= SILENCE_S:
                screen.line(f"waiting for the model's answer, {silent:.0f} s so far")

    def _of(self, execution_id: str) -> asyncio.Event:
        return self._finished.setdefault(execution_id, asyncio.Event())


@contextlib.asynccontextmanager
async def following(api: Api, screen: Screen) -> AsyncIterator[Follower]:
    follower = Follower()
    tasks = [
        asyncio.create_task(follower.follow(api, screen), name="live events"),
        asyncio.create_task(follower.say_what_is_awaited(screen), name="silence"),
    ]
    try:
        yield follower
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
