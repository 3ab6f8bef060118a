"""The notices that were sent, in memory and in MongoDB."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from delivery_center.adapters.in_memory import InMemorySentNotices
from delivery_center.adapters.mongo_sent_notices import MongoSentNotices
from delivery_center.notices.ports import SentNotices
from rota_common.stores.mongo import Mongo


@pytest.fixture(params=["memory", "mongo"])
async def sent(request: pytest.FixtureRequest) -> AsyncIterator[SentNotices]:
    if request.param == "memory":
        yield InMemorySentNotices()
        return
    connection = Mongo(request.getfixturevalue("mongo_url"), f"{request.getfixturevalue('mongo_prefix')}_delivery")
    store = MongoSentNotices(connection.database)
    await store.prepare()
    yield store
    await connection.client.drop_database(connection.database.name)
    await connection.close()


async def test_a_notice_is_noted_once_it_is_sent(sent: SentNotices) -> None:
    now = datetime.now(UTC)
    assert await sent.has("n1") is False
    await sent.add("n1", now)
    await sent.add("n1", now)
    assert await sent.has("n1") is True
    assert await sent.has("n2") is False
