"""The delivery-center's subscriptions in memory keep the same promises as those in MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from delivery_center.adapters.in_memory import InMemorySubscriptions
from delivery_center.adapters.mongo_subscriptions import MongoSubscriptions
from delivery_center.ports import Subscriptions
from rota_common.errors import Transient
from rota_common.stores.mongo import Mongo
from rota_contracts.messages.notification import Subscription

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture(params=["memory", "mongo"])
async def subscriptions(
    request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str
) -> AsyncIterator[Subscriptions]:
    if request.param == "memory":
        yield InMemorySubscriptions()
        return
    connection = Mongo(mongo_url, f"{mongo_prefix}_delivery")
    store = MongoSubscriptions(connection.database)
    await store.prepare()
    yield store
    await connection.client.drop_database(connection.database.name)
    await connection.close()


def to(channel: str, subscriber: str = "ann", *, team: str = "acme", at: datetime = NOON) -> Subscription:
    return Subscription(team_id=team, channel=channel, subscriber=subscriber, created_at=at)


async def test_an_earlier_subscription_stays(subscriptions: Subscriptions) -> None:
    await subscriptions.add(to("sales"))
    await subscriptions.add(to("sales", at=NOON + timedelta(hours=1)))
    assert await subscriptions.of("acme") == [to("sales")]


async def test_concurrent_additions_keep_one(subscriptions: Subscriptions) -> None:
    await asyncio.gather(*(subscriptions.add(to("sales")) for _ in range(10)))
    assert await subscriptions.of("acme", "sales") == [to("sales")]


async def test_subscriptions_are_ordered_by_channel_and_subscriber_and_belong_to_a_team(
    subscriptions: Subscriptions,
) -> None:
    made = [to("b", "zoe"), to("b", "ann"), to("a $x.y", "zoe"), to("Ä", "ann")]
    for one in (*made, to("b", "ann", team="acme2"), to("b", "b", team="a")):
        await subscriptions.add(one)
    assert await subscriptions.of("acme") == [made[2], made[1], made[0], made[3]]
    assert await subscriptions.of("acme", "b") == [made[1], made[0]]
    assert await subscriptions.of("acme", "B") == []
    assert await subscriptions.of("unknown") == []


async def test_one_is_removed_and_the_others_stay(subscriptions: Subscriptions) -> None:
    others = [to("ops"), to("sales", "zoe")]
    for one in (*others, to("sales"), to("sales", team="other")):
        await subscriptions.add(one)
    for _ in range(2):
        await subscriptions.remove("acme", "sales", "ann")
    assert await subscriptions.of("acme") == others
    assert await subscriptions.of("other") == [to("sales", team="other")]


async def test_an_unavailable_store_raises_transient() -> None:
    connection = Mongo("mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=50", "nowhere")
    with pytest.raises(Transient, match="can't read the subscriptions"):
        await MongoSubscriptions(connection.database).of("acme", "sales")
    await connection.close()
