"""Notifications: one event for each subscriber of the channel, or a single one if there is none."""

import asyncio

from nats.errors import Error as NatsError

from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.ports import Sent, Subscriptions
from rota_common.bus.publishing import Publish
from rota_common.errors import Transient
from rota_contracts.catalog import NOTIFICATION_POSTED
from rota_contracts.envelope import Event
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.notification import NotificationPostedV1
from rota_contracts.robots.preferences import NotifyTarget

BODY_LIMIT = 64 * 1024
"""Characters; the whole text is in `delivery.completed`."""

AT_ONCE = 32
"""Facts published concurrently."""


class NatsNotify:
    def __init__(self, publish: Publish, subscriptions: Subscriptions) -> None:
        self._publish, self._subscriptions = publish, subscriptions

    async def send(self, target: NotifyTarget, outgoing: OutgoingMessage) -> Sent:
        subscribers = [one.subscriber for one in await self._subscriptions.of(outgoing.context.team_id, target.channel)]
        if not subscribers:
            event = await self._post(_posted(target, outgoing), outgoing)
            return Sent(details={"event_id": event.id, "subscribers": 0})
        free = asyncio.Semaphore(AT_ONCE)

        async def one(subscriber: str) -> None:
            async with free:
                await self._post(_posted(target, outgoing, subscriber), outgoing)

        await asyncio.gather(*(one(subscriber) for subscriber in subscribers))
        return Sent(details={"subscribers": len(subscribers)})

    async def _post(self, posted: NotificationPostedV1, outgoing: OutgoingMessage) -> Event[NotificationPostedV1]:
        """The fact's id derives from delivery and subscriber: a retry posts the same facts."""
        cause, trace = outgoing.request_id, outgoing.traceparent
        step = f"{outgoing.delivery_id}:{posted.subscriber}" if posted.subscriber else outgoing.delivery_id
        try:
            return await self._publish(NOTIFICATION_POSTED, posted, caused_by=cause, step=step, trace=trace)
        except NatsError as error:
            raise Transient(f"can't post the notification: {error!r}") from error


def _posted(target: NotifyTarget, outgoing: OutgoingMessage, subscriber: str | None = None) -> NotificationPostedV1:
    return NotificationPostedV1(
        team_id=outgoing.context.team_id,
        member_id=outgoing.context.member_id,
        notification_id=outgoing.delivery_id,
        execution_id=outgoing.context.execution_id,
        channel=target.channel,
        title=outgoing.content.summary,
        body=excerpt(outgoing.body, BODY_LIMIT),
        posted_at=outgoing.at,
        subscriber=subscriber,
    )
