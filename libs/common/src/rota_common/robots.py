"""Reading a robot's definition: the gateway puts it into the `robots` bucket, everyone else reads it there."""

import contextlib
from collections.abc import AsyncGenerator
from time import monotonic
from typing import Any

from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.errors import KeyNotFoundError
from nats.js.kv import KeyValue

from rota_common.bus import Bus
from rota_contracts.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET


def robot_key(team: str, member: str) -> str:
    return f"{team}.{member}"


class Robots:
    """Definitions as they are now."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._bucket: KeyValue | None = None

    async def find(self, team: str, member: str) -> Robot | None:
        """The robot, also one that was deleted (`deleted` is set); None if there never was one."""
        if self._bucket is None:
            self._bucket = await self._bus.jetstream.key_value(ROBOTS_BUCKET)
        try:
            entry = await self._bucket.get(robot_key(team, member))
        except KeyNotFoundError:
            return None
        return Robot.model_validate_json(entry.value or b"")

    async def follow(self, *, seconds: float) -> AsyncGenerator[bytes | None]:
        """Every definition there is, as JSON, then None, then each that changes.

        Ends after so many seconds, and as soon as the connection was broken for a moment: the watch may have missed
        something then, so it takes a new one to be sure.
        """
        bucket, until = await self._bus.jetstream.key_value(ROBOTS_BUCKET), monotonic() + seconds
        broken = self._bus.client.stats["reconnects"]
        watcher: Any = await bucket.watchall()
        try:
            while monotonic() < until and self._bus.client.stats["reconnects"] == broken:
                try:
                    entry = await watcher.updates(timeout=1)
                except NatsTimeout:
                    continue
                if entry is None:
                    yield None
                elif entry.value:  # a key that was purged by hand has none
                    yield entry.value
        finally:
            with contextlib.suppress(NatsError):  # the connection may be gone, and the watch with it
                await watcher.stop()
