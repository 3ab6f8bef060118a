"""Notifications: the delivery channel `notify` and its subscriptions."""

from pydantic import Field

from rota_contracts.model import Instant, Name, Part, Payload


class NotificationPostedV1(Payload):
    """Published for each subscriber of `channel`, or once without `subscriber` if there is none.

    `notification_id` is the delivery's id at this target; a repeated one is the same notification.
    """

    notification_id: str
    execution_id: str
    channel: str
    title: str
    body: str
    posted_at: Instant
    subscriber: str | None = None


class Subscription(Part):
    """A subscription to a notification channel of the team's robots."""

    team_id: Name
    channel: str = Field(min_length=1, max_length=100)
    subscriber: Name
    created_at: Instant


class Subscribe(Part):
    """Request to the delivery-center: add a subscriber. Repeating it changes nothing."""

    team_id: Name
    channel: str = Field(min_length=1, max_length=100)
    subscriber: Name


class Unsubscribe(Part):
    """Request to the delivery-center: remove a subscriber of a channel."""

    team_id: Name
    channel: str = Field(min_length=1, max_length=100)
    subscriber: Name


class ListSubscriptions(Part):
    """Request to the delivery-center: list the subscriptions of one channel, or of all."""

    team_id: Name
    channel: str | None = None


class SubscriptionPage(Part):
    """Subscriptions by channel and subscriber; `refused` is the reason if nothing was changed."""

    subscriptions: list[Subscription] = []
    refused: str = ""
