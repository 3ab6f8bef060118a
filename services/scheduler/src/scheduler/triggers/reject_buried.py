"""The rejection of triggers whose message is buried, so that its requester learns of it."""

from dataclasses import dataclass

from rota_common.clock import Clock
from rota_contracts.envelope import Event
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.trigger import RejectReason, TriggerReceivedV1
from scheduler.domain.queue import Refusal
from scheduler.event_publisher import EventPublisher
from scheduler.ports import Queue


@dataclass(frozen=True, kw_only=True)
class RejectBuried:
    queue: Queue
    publisher: EventPublisher
    clock: Clock

    async def __call__(self, event: Event[TriggerReceivedV1], reason: str) -> None:
        """A trigger that was decided before it was buried keeps its decision."""
        refusal = Refusal(RejectReason.FAILED, f"the scheduler can't take it: {excerpt(reason)}")
        await self.publisher.publish_decision(await self.queue.refuse(event.data, refusal, self.clock()))
