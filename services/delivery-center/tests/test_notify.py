"""Notifications to many subscribers: each has a fact of its own, and a retry posts the same facts."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from nats.errors import TimeoutError as NatsTimeout

from delivery_center.adapters.in_memory import InMemorySubscriptions
from delivery_center.adapters.nats_notify import NatsNotify
from delivery_center.domain.outgoing_message import OutgoingMessage
from rota_common.errors import Transient
from rota_contracts.catalog import Channel
from rota_contracts.envelope import Event
from rota_contracts.ids import fact_id
from rota_contracts.messages.notification import NotificationPostedV1, Subscription
from rota_contracts.robots.preferences import NotifyTarget

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Stream:
    """What was published, by the facts' ids; those of the subscribers in `refused` fail."""

    def __init__(self) -> None:
        self.facts: dict[str, NotificationPostedV1] = {}
        self.refused: set[str] = set()
        self.taken = 0

    async def __call__(
        self, channel: Channel[Any], data: Any, *, caused_by: Any, step: str = "", again: int = 0, trace: str = ""
    ) -> Event[Any]:
        if data.subscriber in self.refused:
            raise NatsTimeout
        key = fact_id(caused_by, channel.subject(data.team_id, data.member_id), step)
        self.facts[key] = data
        self.taken += 1
        return Event(id=key, type=channel.type, source="delivery-center", time=NOON, data=data)


@pytest.fixture
def stream() -> Stream:
    return Stream()


async def subscribed(*subscribers: str) -> InMemorySubscriptions:
    kept = InMemorySubscriptions()
    for one in subscribers:
        await kept.add(Subscription(team_id="acme", channel="sales", subscriber=one, created_at=NOON))
    return kept


async def test_each_of_many_subscribers_receives_a_fact_of_its_own(
    stream: Stream, outgoing: Callable[..., OutgoingMessage]
) -> None:
    notify = NatsNotify(stream, await subscribed(*(f"s{number}" for number in range(100))))
    sent = await notify.send(NotifyTarget(channel="sales"), outgoing())
    assert sent.details == {"subscribers": 100}
    assert {fact.subscriber for fact in stream.facts.values()} == {f"s{number}" for number in range(100)}
    assert {fact.notification_id for fact in stream.facts.values()} == {"d1"}


async def test_a_retry_posts_the_same_facts(stream: Stream, outgoing: Callable[..., OutgoingMessage]) -> None:  # DC-07
    notify = NatsNotify(stream, await subscribed("ann", "bob", "zoe"))
    stream.refused = {"bob"}
    with pytest.raises(Transient, match="can't post the notification"):
        await notify.send(NotifyTarget(channel="sales"), outgoing())
    stream.refused = set()
    await notify.send(NotifyTarget(channel="sales"), outgoing())
    assert sorted(str(fact.subscriber) for fact in stream.facts.values()) == ["ann", "bob", "zoe"]
    assert stream.taken == 5


async def test_subscribers_of_another_channel_receive_nothing(
    stream: Stream, outgoing: Callable[..., OutgoingMessage]
) -> None:
    notify = NatsNotify(stream, await subscribed("ann"))
    sent = await notify.send(NotifyTarget(), outgoing())
    ((event_id, fact),) = stream.facts.items()
    assert (fact.channel, fact.subscriber) == ("team", None)
    assert sent.details == {"event_id": event_id, "subscribers": 0}
