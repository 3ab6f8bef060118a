"""The delivery channel `notify`: an event for whoever subscribes to it (DEC-12)."""

from pydantic import Field

from rota_contracts.model import Instant, Name, Part, Payload


class NotificationPostedV1(Payload):
    """News for one who subscribes to `channel`: one fact for each subscriber, or one without if there is none.

    `notification_id` is the delivery's id at this target: the same one again is the same notification.
    """

    notification_id: str
    execution_id: str
    channel: str
    title: str
    body: str
    posted_at: Instant
    subscriber: str | None = None


class Subscription(Part):
    """Who wants the notifications of a channel of the team's robots."""

    team_id: Name
    channel: str = Field(min_length=1, max_length=100)
    subscriber: Name
    created_at: Instant


class Subscribe(Part):
    """Question to the delivery-center: add a subscriber; doing so again changes nothing."""

    team_id: Name
    channel: str = Field(min_length=1, max_length=100)
    subscriber: Name


class Unsubscribe(Part):
    """Question to the delivery-center: remove a subscriber of a channel."""

    team_id: Name
    channel: str = Field(min_length=1, max_length=100)
    subscriber: Name


class ListSubscriptions(Part):
    """Question to the delivery-center: who subscribes, to one channel or to any?"""

    team_id: Name
    channel: str | None = None


class SubscriptionPage(Part):
    """By channel and subscriber; `refused` says why nothing was changed."""

    subscriptions: list[Subscription] = []
    refused: str = ""
