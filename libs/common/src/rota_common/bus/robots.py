"""Robots' definitions, read from the `robots` bucket, which the gateway writes."""

import contextlib
from collections.abc import AsyncGenerator
from time import monotonic
from typing import Any

from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import KeyNotFoundError
from nats.js.kv import KeyValue

from rota_common.bus.connection import Bus
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET

AT_ONCE = 200
"""Definitions in one fetch. Not nats-py's own watch: that receives all of them as fast as the server can send, and
drops what is over 256 MB."""

FETCH_S = 1.0
CHANGES = ConsumerConfig(
    deliver_policy=DeliverPolicy.NEW, ack_policy=AckPolicy.NONE, mem_storage=True, inactive_threshold=60
)
ALL_AND_CHANGES = CHANGES.evolve(deliver_policy=DeliverPolicy.LAST_PER_SUBJECT)


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
        """All definitions as JSON, then None, then each that changes; without those that are `stored`, None is first.

        Ends after `seconds`, and as soon as the connection was interrupted: a change may have been lost then, so the
        caller starts again. Raises nats.errors.Error when it can't go on.
        """
        until, reconnects = monotonic() + seconds, self._bus.client.stats["reconnects"]
        source = await self._bus.jetstream.pull_subscribe(
            f"$KV.{ROBOTS_BUCKET}.>",
            stream=f"KV_{ROBOTS_BUCKET}",
            config=ALL_AND_CHANGES if stored else CHANGES,
        )

        def unbroken() -> bool:
            return bool(self._bus.client.stats["reconnects"] == reconnects)

        try:
            while unbroken() and (left := (await source.consumer_info()).num_pending):
                for text in await _next(source, min(left, AT_ONCE)):
                    yield text
            if unbroken():
                yield None
            while unbroken() and monotonic() < until:
                for text in await _next(source, 1):
                    yield text
        finally:
            with contextlib.suppress(NatsError):  # the connection may be gone, and the subscription with it
                await source.unsubscribe()


async def _next(source: Any, count: int) -> list[bytes]:
    """At most `count` definitions; none if nothing arrived for a while. A purged key has none."""
    try:
        return [message.data for message in await source.fetch(count, timeout=FETCH_S) if message.data]
    except NatsTimeout:
        return []
