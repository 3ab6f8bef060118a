"""Buckets and the note of those that were filled keep the same promises in memory as in NATS and MongoDB."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from rota_common import topology
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_common.stores.mongo import Mongo
from rota_contracts.streams import ROBOTS_BUCKET
from trigger_gateway.adapters.in_memory_buckets import InMemoryBuckets, InMemoryFilledBuckets
from trigger_gateway.adapters.mongo_filled_buckets import MongoFilledBuckets
from trigger_gateway.adapters.nats_buckets import NatsBuckets
from trigger_gateway.copies.ports import Buckets, FilledBuckets

Made = tuple[Buckets, Callable[[], Awaitable[None]]]
"""Buckets, and what makes a new one."""


@pytest.fixture(params=["memory", "nats"])
async def made(request: pytest.FixtureRequest, nats: EmbeddedServer) -> AsyncIterator[Made]:
    if request.param == "memory":
        fake = InMemoryBuckets()

        async def again() -> None:
            fake.made[ROBOTS_BUCKET] = "later"

        yield fake, again
        return
    service = Service("trigger-gateway", nats.url)
    await service.start()
    await service.started.wait()

    async def lost_and_made() -> None:
        await service.bus.jetstream.delete_key_value(ROBOTS_BUCKET)
        await topology.apply_to(nats.url)

    yield NatsBuckets(service.bus), lost_and_made
    await service.stop(1)


async def test_a_bucket_that_was_made_again_is_another_than_the_one_before(made: Made) -> None:
    buckets, again = made
    first = await buckets.look(ROBOTS_BUCKET)
    assert (await buckets.look(ROBOTS_BUCKET), first.empty) == (first, True)
    await again()
    assert (await buckets.look(ROBOTS_BUCKET)).made != first.made


@pytest.fixture(params=["memory", "mongo"])
async def filled(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[FilledBuckets]:
    if request.param == "memory":
        yield InMemoryFilledBuckets()
        return
    server = Mongo(mongo_url, f"{mongo_prefix}_gateway")
    yield MongoFilledBuckets(server.database)
    await server.close()


async def test_the_bucket_that_was_filled_last_is_noted_by_its_name(filled: FilledBuckets) -> None:
    assert await filled.find("robots") is None
    for instant in ("at first", "later"):
        await filled.note("robots", instant)
    assert (await filled.find("robots"), await filled.find("definitions")) == ("later", None)
