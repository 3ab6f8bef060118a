"""The rejection of a request that couldn't be handled."""

from dataclasses import dataclass

from delivery_center.domain.facts import rejection
from rota_common.bus.publishing import Publish
from rota_contracts.catalog import DELIVERY_ACCEPTED
from rota_contracts.envelope import Event
from rota_contracts.messages.delivery import DeliveryRequestedV1


@dataclass(frozen=True)
class RejectRequest:
    """Answers a request that was buried, so that no execution waits for ever."""

    publish: Publish

    async def __call__(self, event: Event[DeliveryRequestedV1], reason: str) -> None:
        answer, cause = rejection(event.data, reason), event.data.request_id
        await self.publish(DELIVERY_ACCEPTED, answer, caused_by=cause, trace=event.traceparent)
