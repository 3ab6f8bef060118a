"""How a delivery has fared, for whoever asks."""

from delivery_center.domain.delivery import Attempt, Delivery, Target
from delivery_center.domain.facts import result_of
from delivery_center.ports import DeliveryLog
from rota_contracts.messages.delivery import AttemptDetail, DeliveryReply, ReadDelivery, TargetDetail


async def read_delivery(question: ReadDelivery, log: DeliveryLog) -> DeliveryReply:
    delivery = await _asked_for(question, log)
    if delivery is None:
        return DeliveryReply()
    return DeliveryReply(
        request_id=delivery.request_id,
        accepted_at=delivery.accepted_at,
        settled=delivery.settled,
        error=delivery.error,
        targets=[_target(target) for target in delivery.targets],
        context=delivery.context,
        summary=delivery.content.summary,
        replay_of=delivery.replay_of,
    )


async def _asked_for(question: ReadDelivery, log: DeliveryLog) -> Delivery | None:
    """By its id if one is given, and only for the team that it belongs to."""
    if not question.request_id:
        return await log.find_of(question.team_id, question.execution_id)
    found = await log.find(question.request_id)
    return found if found is not None and found.context.team_id == question.team_id else None


def _target(target: Target) -> TargetDetail:
    return TargetDetail(
        result=result_of(target),
        attempts=[_attempt(attempt) for attempt in target.attempts],
        next_attempt_at=target.next_attempt_at,
    )


def _attempt(attempt: Attempt) -> AttemptDetail:
    return AttemptDetail(
        at=attempt.at,
        ok=attempt.ok,
        latency_ms=attempt.latency_ms,
        error=attempt.error,
        details=attempt.details,
    )
