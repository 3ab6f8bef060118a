"""The changes of a key-value bucket, in order, for those who keep what they read of it in memory."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from time import monotonic
from typing import Any

from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from rota_common.bus.connection import Bus

AT_ONCE = 200
"""Values in one fetch. Not nats-py's own watch: that receives all of them as fast as the server can send, and drops
what is over 256 MB."""

FETCH_S = 1.0
CHANGES = ConsumerConfig(
    deliver_policy=DeliverPolicy.NEW, ack_policy=AckPolicy.NONE, mem_storage=True, inactive_threshold=60
)
ALL_AND_CHANGES = CHANGES.evolve(deliver_policy=DeliverPolicy.LAST_PER_SUBJECT)


@dataclass(frozen=True)
class Change:
    """`text` None: all that was stored has come. `seq`: the bucket's sequence number up to which all was seen."""

    text: bytes | None
    seq: int


async def bucket_changes(
    bus: Bus, bucket: str, *, keys: str = ">", seconds: float, stored: bool = True
) -> AsyncGenerator[Change]:
    """All values of these keys, then one without a text, then each that changes; without those that are `stored`, the
    one without a text is first.

    Ends after `seconds`, and as soon as the connection was interrupted: a change may have been lost then, so the
    caller starts again. Raises nats.errors.Error when it can't go on.
    """
    until, reconnects = monotonic() + seconds, bus.client.stats["reconnects"]
    config = ALL_AND_CHANGES if stored else CHANGES
    source = await bus.jetstream.pull_subscribe(f"$KV.{bucket}.{keys}", stream=f"KV_{bucket}", config=config)

    def unbroken() -> bool:
        return bool(bus.client.stats["reconnects"] == reconnects)

    try:
        while unbroken() and (info := await source.consumer_info()).num_pending:
            for change in await _next(source, min(info.num_pending, AT_ONCE)):
                yield change
        if unbroken():
            yield Change(None, info.delivered.stream_seq if info.delivered else 0)
        while unbroken() and monotonic() < until:
            for change in await _next(source, 1):
                yield change
    finally:
        with contextlib.suppress(NatsError):  # the connection may be gone, and the subscription with it
            await source.unsubscribe()


async def _next(source: Any, count: int) -> list[Change]:
    """At most `count`; none if nothing arrived for a while. A purged key has no value."""
    try:
        found = await source.fetch(count, timeout=FETCH_S)
    except NatsTimeout:
        return []
    return [Change(message.data, message.metadata.sequence.stream) for message in found if message.data]
