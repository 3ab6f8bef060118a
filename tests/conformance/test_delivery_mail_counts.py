"""The counts of mails in memory keep the same promises as those in MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from datetime import date

import pytest

from delivery_center.adapters.in_memory import InMemoryMailCounts
from delivery_center.adapters.mail_limits import MailCounts
from delivery_center.adapters.mongo_mail_counts import MongoMailCounts
from rota_common.stores.mongo import Mongo

MONDAY, TUESDAY = date(2026, 3, 2), date(2026, 3, 3)


@pytest.fixture(params=["memory", "mongo"])
async def counts(request: pytest.FixtureRequest) -> AsyncIterator[MailCounts]:
    if request.param == "memory":
        yield InMemoryMailCounts()
        return
    connection = Mongo(request.getfixturevalue("mongo_url"), f"{request.getfixturevalue('mongo_prefix')}_delivery")
    store = MongoMailCounts(connection.database)
    await store.prepare()
    yield store
    await connection.client.drop_database(connection.database.name)
    await connection.close()


async def test_a_team_takes_as_many_as_it_may_of_each_day(counts: MailCounts) -> None:
    taken = await asyncio.gather(*(counts.take("acme", MONDAY, 3) for _ in range(8)))
    assert sorted(taken) == [False] * 5 + [True] * 3
    assert await counts.take("acme", TUESDAY, 3)
    assert await counts.take("other", MONDAY, 3)
    await counts.give_back("acme", MONDAY)
    assert await counts.take("acme", MONDAY, 3)
    assert not await counts.take("acme", MONDAY, 3)


async def test_what_was_never_taken_is_not_given_back(counts: MailCounts) -> None:
    await counts.give_back("acme", MONDAY)
    assert await counts.take("acme", MONDAY, 1)
    assert not await counts.take("acme", MONDAY, 1)
