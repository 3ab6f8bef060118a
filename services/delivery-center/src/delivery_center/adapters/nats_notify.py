"""Notifications: an event for whoever subscribes to the team's (DC-07, Decision 12)."""

from nats.errors import Error as NatsError

from delivery_center.ports import Parcel, Sent
from rota_common.errors import Transient
from rota_common.publishing import Publish
from rota_contracts.catalog import NOTIFICATION_POSTED
from rota_contracts.execution import excerpt
from rota_contracts.notification import NotificationPostedV1
from rota_contracts.preferences import NotifyTarget

BODY_LIMIT = 64 * 1024
"""Characters; the whole text is in `delivery.completed`."""


class NatsNotify:
    def __init__(self, publish: Publish) -> None:
        self._publish = publish

    async def send(self, target: NotifyTarget, parcel: Parcel) -> Sent:
        posted = NotificationPostedV1(
            team_id=parcel.context.team_id,
            member_id=parcel.context.member_id,
            notification_id=parcel.delivery_id,
            execution_id=parcel.context.execution_id,
            channel=target.channel,
            title=parcel.content.summary,
            body=excerpt(parcel.body, BODY_LIMIT),
            posted_at=parcel.at,
        )
        cause, step, trace = parcel.request_id, parcel.delivery_id, parcel.traceparent
        try:
            event = await self._publish(NOTIFICATION_POSTED, posted, caused_by=cause, step=step, trace=trace)
        except NatsError as error:
            raise Transient(f"can't post the notification: {error!r}") from error
        return Sent(details={"event_id": event.id})
