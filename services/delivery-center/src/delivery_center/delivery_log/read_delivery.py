"""One delivery with its attempts."""

from dataclasses import dataclass

from delivery_center.domain.delivery import Attempt, Delivery, Target
from delivery_center.domain.facts import result_of
from delivery_center.ports import DeliveryLog, Texts
from rota_contracts.messages import delivery as messages

REPLY_LIMIT = 768 * 1024
"""Bytes of JSON; a message holds 1 MB."""


@dataclass(frozen=True, kw_only=True)
class ReadDelivery:
    """The replies of receivers are left out where they would make the answer too long for a message."""

    log: DeliveryLog
    texts: Texts

    async def __call__(self, asked: messages.ReadDelivery) -> messages.DeliveryReply:
        delivery = await self._find(asked)
        if delivery is None:
            return messages.DeliveryReply()
        if asked.with_body and asked.request_id:
            body = await self.texts.read(delivery.content.body)
            return messages.DeliveryReply(request_id=delivery.request_id, context=delivery.context, body=body)
        reply = _reply(delivery)
        return reply if len(reply.model_dump_json()) <= REPLY_LIMIT else _without_details(reply)

    async def _find(self, asked: messages.ReadDelivery) -> Delivery | None:
        """By its request id if one is given; only of the given team."""
        if not asked.request_id:
            return await self.log.find_of(asked.team_id, asked.execution_id)
        found = await self.log.find(asked.request_id)
        return found if found is not None and found.context.team_id == asked.team_id else None


def _reply(delivery: Delivery) -> messages.DeliveryReply:
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


def _without_details(reply: messages.DeliveryReply) -> messages.DeliveryReply:
    targets = [
        target.model_copy(
            update={
                "result": target.result.model_copy(update={"details": None}),
                "attempts": [attempt.model_copy(update={"details": None}) for attempt in target.attempts],
            }
        )
        for target in reply.targets
    ]
    return reply.model_copy(update={"targets": targets})


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
