"""Robots' definitions, read from the `robots` bucket, which the gateway writes."""

import contextlib
from collections.abc import AsyncGenerator

from nats.js.errors import KeyNotFoundError
from nats.js.kv import KeyValue

from rota_common.bus.bucket_changes import bucket_changes
from rota_common.bus.connection import Bus
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET


def robot_key(team: str, member: str) -> str:
    return f"{team}.{member}"


class Robots:
    """The current definitions."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._bucket: KeyValue | None = None

    async def find(self, team: str, member: str) -> Robot | None:
        """The robot, also a deleted one (`deleted` is set); None if there never was one."""
        if self._bucket is None:
            self._bucket = await self._bus.jetstream.key_value(ROBOTS_BUCKET)
        try:
            entry = await self._bucket.get(robot_key(team, member))
        except KeyNotFoundError:
            return None
        return Robot.model_validate_json(entry.value or b"")

    async def follow(self, *, seconds: float, stored: bool = True) -> AsyncGenerator[bytes | None]:
        """All definitions as JSON, then None, then each that changes, as `bucket_changes` has them."""
        changes = bucket_changes(self._bus, ROBOTS_BUCKET, seconds=seconds, stored=stored)
        async with contextlib.aclosing(changes):
            async for change in changes:
                yield change.text
