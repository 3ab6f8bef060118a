"""The subscriptions to a team's notifications: added once, removed, listed, limited."""

from datetime import UTC, datetime, timedelta

import pytest

from delivery_center.adapters.in_memory import InMemorySubscriptions
from delivery_center.manage_subscriptions import MOST, ManageSubscriptions
from rota_contracts.messages.notification import ListSubscriptions, Subscribe, SubscriptionPage, Unsubscribe

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Desk:
    """The use case over a dictionary; `now` is the time."""

    def __init__(self) -> None:
        self.now = NOON
        self.manage = ManageSubscriptions(subscriptions=InMemorySubscriptions(), clock=lambda: self.now)

    async def add(self, subscriber: str, channel: str = "sales", team: str = "acme") -> SubscriptionPage:
        return await self.manage.add(Subscribe(team_id=team, channel=channel, subscriber=subscriber))

    async def remove(self, subscriber: str, channel: str = "sales", team: str = "acme") -> SubscriptionPage:
        return await self.manage.remove(Unsubscribe(team_id=team, channel=channel, subscriber=subscriber))

    async def all(self, channel: str | None = None, team: str = "acme") -> SubscriptionPage:
        return await self.manage.list(ListSubscriptions(team_id=team, channel=channel))


def names(listed: SubscriptionPage) -> list[tuple[str, str]]:
    assert listed.refused == ""
    return [(one.channel, one.subscriber) for one in listed.subscriptions]


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_a_subscriber_is_added_to_a_channel_and_listed_in_the_reply(desk: Desk) -> None:  # DC-07, DEC-12
    await desk.add("zoe")
    await desk.add("ann", "ops")
    assert names(await desk.add("ann")) == [("sales", "ann"), ("sales", "zoe")]
    assert names(await desk.all()) == [("ops", "ann"), ("sales", "ann"), ("sales", "zoe")]
    assert names(await desk.all("ops")) == [("ops", "ann")]
    assert names(await desk.all(team="other")) == []


async def test_subscribing_again_changes_nothing(desk: Desk) -> None:
    first = await desk.add("ann")
    desk.now += timedelta(hours=1)
    assert await desk.add("ann") == first
    assert first.subscriptions[0].created_at == NOON


async def test_a_subscriber_is_removed_from_one_channel_of_one_team(desk: Desk) -> None:
    for channel, team in (("sales", "acme"), ("ops", "acme"), ("sales", "other")):
        await desk.add("ann", channel, team)
    assert names(await desk.remove("ann")) == []
    assert names(await desk.remove("ann")) == []
    assert names(await desk.all()) == [("ops", "ann")]
    assert names(await desk.all(team="other")) == [("sales", "ann")]


async def test_the_subscriptions_of_a_team_are_limited(desk: Desk) -> None:
    for number in range(MOST):
        assert not (await desk.add(f"s{number}", f"channel {number % 7}")).refused
    answer = await desk.add("late")
    assert answer.refused == "expected at most 1000 subscriptions of one team, acme has 1000: remove some"
    assert answer.subscriptions == []
    assert len((await desk.all()).subscriptions) == MOST
    assert not (await desk.add("s0", "channel 0")).refused
    assert not (await desk.add("late", team="other")).refused
    await desk.remove("s0", "channel 0")
    assert names(await desk.add("late")) == [("sales", "late")]
