"""Facts onto the bus, with ids that depend on the delivery alone."""

import asyncio
from collections.abc import Sequence

from delivery_center.domain import Delivery
from delivery_center.facts import Fact
from rota_common.publishing import Publish


class NatsBulletin:
    def __init__(self, publish: Publish) -> None:
        self._publish = publish

    async def publish(self, facts: Sequence[Fact], *, of: Delivery) -> None:
        if not facts:
            return
        await asyncio.gather(*(self._one(fact, of) for fact in facts[:-1]))
        await self._one(facts[-1], of)

    async def _one(self, fact: Fact, of: Delivery) -> None:
        await self._publish(fact.channel, fact.data, caused_by=of.request_id, step=fact.step, trace=of.traceparent)
