"""The delivery channel `notify`: an event for whoever subscribes to it (Decision 12)."""

from rota_contracts.model import Instant, Payload


class NotificationPostedV1(Payload):
    """News for whoever subscribes to `channel`.

    `notification_id` is the delivery's id at this target: the same one again is the same notification.
    """

    notification_id: str
    execution_id: str
    channel: str
    title: str
    body: str
    posted_at: Instant
