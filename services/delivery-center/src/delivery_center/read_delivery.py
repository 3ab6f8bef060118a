"""How the delivery of an execution has fared, for whoever asks."""

from delivery_center.domain import Attempt, Target
from delivery_center.facts import result_of
from delivery_center.ports import Deliveries
from rota_contracts.delivery import AttemptRead, DeliveryRead, ReadDelivery, TargetRead


async def read_delivery(question: ReadDelivery, deliveries: Deliveries) -> DeliveryRead:
    delivery = await deliveries.find_of(question.team_id, question.execution_id)
    if delivery is None:
        return DeliveryRead()
    return DeliveryRead(
        request_id=delivery.request_id,
        accepted_at=delivery.accepted_at,
        settled=delivery.settled,
        error=delivery.error,
        targets=[_target(target) for target in delivery.targets],
    )


def _target(target: Target) -> TargetRead:
    return TargetRead(
        result=result_of(target),
        attempts=[_attempt(attempt) for attempt in target.attempts],
        next_attempt_at=target.next_attempt_at,
    )


def _attempt(attempt: Attempt) -> AttemptRead:
    return AttemptRead(at=attempt.at, ok=attempt.ok, latency_ms=attempt.latency_ms, error=attempt.error)
