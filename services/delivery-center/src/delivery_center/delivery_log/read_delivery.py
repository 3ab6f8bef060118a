"""One delivery with its attempts."""

from dataclasses import dataclass

from delivery_center.domain.delivery import Attempt, Delivery, Target
from delivery_center.domain.facts import result_of
from delivery_center.ports import DeliveryLog
from rota_contracts.messages import delivery as messages


@dataclass(frozen=True)
class ReadDelivery:
    log: DeliveryLog

    async def __call__(self, asked: messages.ReadDelivery) -> messages.DeliveryReply:
        delivery = await self._find(asked)
        if delivery is None:
            return messages.DeliveryReply()
        return messages.DeliveryReply(
            request_id=delivery.request_id,
            accepted_at=delivery.accepted_at,
            settled=delivery.settled,
            error=delivery.error,
            targets=[_target(target) for target in delivery.targets],
            context=delivery.context,
            summary=delivery.content.summary,
            replay_of=delivery.replay_of,
        )

    async def _find(self, asked: messages.ReadDelivery) -> Delivery | None:
        """By its request id if one is given; only of the given team."""
        if not asked.request_id:
            return await self.log.find_of(asked.team_id, asked.execution_id)
        found = await self.log.find(asked.request_id)
        return found if found is not None and found.context.team_id == asked.team_id else None


def _target(target: Target) -> messages.TargetDetail:
    return messages.TargetDetail(
        result=result_of(target),
        attempts=[_attempt(attempt) for attempt in target.attempts],
        next_attempt_at=target.next_attempt_at,
    )


def _attempt(attempt: Attempt) -> messages.AttemptDetail:
    return messages.AttemptDetail(
        at=attempt.at,
        ok=attempt.ok,
        latency_ms=attempt.latency_ms,
        error=attempt.error,
        details=attempt.details,
    )
