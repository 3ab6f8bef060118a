"""The delivery log, page by page, newest first."""

from dataclasses import dataclass

from delivery_center.domain.delivery import Delivery, Target
from delivery_center.domain.facts import result_of
from delivery_center.domain.page_cursor import cursor_of
from delivery_center.ports import DeliveryLog
from rota_common.page_cursor import parse_cursor
from rota_contracts.messages import delivery_log as messages


@dataclass(frozen=True)
class ListDeliveries:
    log: DeliveryLog

    async def __call__(self, asked: messages.ListDeliveries) -> messages.DeliveryPage:
        """Raise Permanent if `after` is no cursor."""
        page = await self.log.page(asked, after=parse_cursor(asked.after))
        more = len(page) == asked.limit
        return messages.DeliveryPage(
            deliveries=[_summary(delivery) for delivery in page], next=cursor_of(page[-1]).text() if more else ""
        )


def _summary(delivery: Delivery) -> messages.DeliverySummary:
    return messages.DeliverySummary(
        request_id=delivery.request_id,
        member_id=delivery.context.member_id,
        execution_id=delivery.context.execution_id,
        created_at=delivery.created_at,
        state=delivery.state,
        summary=delivery.content.summary,
        replay_of=delivery.replay_of,
        targets=[_target(target) for target in delivery.targets],
    )


def _target(target: Target) -> messages.TargetSummary:
    return messages.TargetSummary(
        delivery_id=target.delivery_id,
        target_id=target.target_id,
        type=target.type,
        target=target.label,
        state=target.state,
        attempts=len(target.attempts),
        error=result_of(target).error,
        next_attempt_at=target.next_attempt_at,
    )
