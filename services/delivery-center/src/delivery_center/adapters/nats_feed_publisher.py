"""The facts of a delivery, published on NATS with ids derived from the delivery."""

import asyncio
from collections.abc import Sequence

from delivery_center.domain.delivery import Delivery
from delivery_center.domain.facts import Fact
from rota_common.bus.feed import Feed
from rota_common.bus.publishing import Publish


class NatsFeedPublisher:
    def __init__(self, publish: Publish, feed: Feed) -> None:
        self._publish, self._feed = publish, feed

    async def position(self) -> int:
        return await self._feed.position()

    async def publish(self, facts: Sequence[Fact], *, of: Delivery, again: bool = False) -> None:
        if not facts:
            return
        await asyncio.gather(*(self._one(fact, of, again) for fact in facts[:-1]))
        await self._one(facts[-1], of, again)

    async def _one(self, fact: Fact, of: Delivery, again: bool) -> None:
        cause, trace = of.request_id, of.traceparent
        if not fact.channel.sequenced:
            await self._publish(fact.channel, fact.data, caused_by=cause, step=fact.step, trace=trace)
            return
        await self._feed(
            fact.channel,
            fact.data,
            caused_by=cause,
            step=fact.step,
            trace=trace,
            since=fact.since,
            again=again,
            after=of.feed_position or 0,
        )
