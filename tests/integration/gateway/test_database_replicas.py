"""One replica of the gateway reads a database at a time; another one goes on where it ends (F21)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Any

import pytest_asyncio

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.stores.mongo import Document, Mongo
from rota_common.testing.crash import crash
from rota_common.testing.patience import PATIENCE_S
from tests.integration.gateway.fixtures import (
    IGNORES_CUT_OFF_SOCKETS,
    Crm,
    add_robot,
    add_source,
    data_of,
    read_source,
    reading,
    subscribed,
    until_state,
    woken,
)
from tests.integration.gateway.harness import Gateway, messages

pytestmark = IGNORES_CUT_OFF_SOCKETS


LEASE = 3.0


class Store:
    """What the gateway keeps of its readings."""

    def __init__(self, url: str, prefix: str) -> None:
        self._mongo = Mongo(url, f"{prefix}_gateway")
        self._readings = self._mongo.database["readings"]

    async def until(self, so: Callable[[list[Document]], bool], *, patience: float = PATIENCE_S) -> list[Document]:
        found: list[Document] = []
        try:
            async with asyncio.timeout(patience):
                while not so(found := await self._readings.find({}).to_list(None)):
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"it has not come so far: {found}") from None
        return found

    async def owner(self, *, but: str | None = None, patience: float = PATIENCE_S) -> str:
        [one] = await self.until(
            lambda all_: [each for each in all_ if each["owner"] not in (None, but)] != [], patience=patience
        )
        return str(one["owner"])

    async def close(self) -> None:
        await self._mongo.close()


@pytest_asyncio.fixture
async def store(mongo_url: str, mongo_prefix: str) -> AsyncIterator[Store]:
    made = Store(mongo_url, mongo_prefix)
    yield made
    await made.close()


async def prepared(gateway: Gateway, crm: Crm) -> None:
    gateway.key = await gateway.make_team()
    await add_robot(gateway, subscribed())
    await add_source(gateway, crm.source())


def keys(found: list[Any]) -> list[Any]:
    return sorted(data["document_key"]["_id"] for data in data_of(found))


async def test_one_replica_reads_and_another_goes_on_when_it_dies(
    nats: EmbeddedServer, crm: Crm, mongo_prefix: str, store: Store
) -> None:
    given = (nats.url, crm.url, mongo_prefix, {"CRM_URL": crm.url})
    async with reading(*given, reading_lease=LEASE) as first:
        await prepared(first, crm)
        dead = await store.owner()
        async with reading(*given, reading_lease=LEASE) as second:
            second.key = first.key
            await crm.leads.insert_many([{"_id": number} for number in range(10)])
            await woken(first, 10)
            assert await store.owner() == dead
            await crash(first.app.service)
            await crm.leads.insert_many([{"_id": number} for number in range(10, 20)])
            began = monotonic()
            await store.owner(but=dead)
            assert monotonic() - began < LEASE + 3
            assert keys(await woken(second, 20)) == list(range(20))


async def test_a_replica_that_stops_hands_over_at_once(
    nats: EmbeddedServer, crm: Crm, mongo_prefix: str, store: Store
) -> None:
    given = (nats.url, crm.url, mongo_prefix, {"CRM_URL": crm.url})
    async with reading(*given, reading_lease=600) as first:
        await prepared(first, crm)
        left = await store.owner()
        await crm.leads.insert_one({"_id": 1})
        await woken(first, 1)
    [released] = await store.until(lambda found: found[0]["owner"] is None, patience=1)
    await crm.leads.insert_one({"_id": 2})
    async with reading(*given, reading_lease=600) as second:
        assert await store.owner(but=left, patience=5) != left
        assert keys(await woken(second, 2)) == [1, 2]
        [taken] = await store.until(lambda found: found[0]["owner"] is not None)
        assert taken["epoch"] == released["epoch"] + 1


async def test_a_source_that_is_deleted_is_read_no_more(
    nats: EmbeddedServer, crm: Crm, mongo_prefix: str, store: Store
) -> None:
    async with reading(nats.url, crm.url, mongo_prefix, {"CRM_URL": crm.url}) as acme:
        await prepared(acme, crm)
        await store.owner()
        gone = await acme.call("DELETE", "/v1/teams/acme/sources/crm")
        assert gone.status_code == 204
        await store.until(lambda found: found[0]["owner"] is None, patience=3)
        await crm.leads.insert_one({"_id": "between"})
        await crm.later(1)
        await add_source(acme, crm.source())  # another one of this name begins anew
        await crm.leads.insert_one({"_id": "after"})
        assert keys(await woken(acme, 1)) == ["after"]


async def test_a_source_that_is_changed_is_read_as_it_is_now(
    nats: EmbeddedServer, crm: Crm, mongo_prefix: str, store: Store
) -> None:
    async with reading(nats.url, crm.url, mongo_prefix, {"CRM_URL": crm.url}) as acme:
        await prepared(acme, crm)
        [before] = await store.until(lambda found: found != [] and found[0].get("state") == "reading")
        await change(acme, operations=["insert"])
        await store.until(lambda found: found[0]["epoch"] > before["epoch"], patience=3)
        await until_state(acme, "reading")
        await crm.leads.insert_one({"_id": 1})
        await crm.leads.delete_one({"_id": 1})
        await woken(acme, 1)
        [before] = await store.until(lambda found: found[0]["changes"] == 1)
        await change(acme, collection="orders")
        await store.until(lambda found: found[0]["epoch"] > before["epoch"], patience=3)
        await until_state(acme, "reading")
        await crm.leads.insert_one({"_id": 2})
        await crm.client[crm.name]["orders"].insert_one({"_id": 3})
        assert keys(await woken(acme, 2)) == [1, 3]
        assert (await read_source(acme))["reading"]["changes"] <= 1  # counted anew


async def change(gateway: Gateway, **given: Any) -> None:
    done = await gateway.call("PATCH", "/v1/teams/acme/sources/crm", json=given)
    assert done.status_code == 200, done.text


async def test_what_a_source_with_other_operations_goes_on_from_is_still_its_place(
    nats: EmbeddedServer, crm: Crm, mongo_prefix: str, store: Store
) -> None:
    environ = {"CRM_URL": crm.url}
    async with reading(nats.url, crm.url, mongo_prefix, environ) as acme:
        await prepared(acme, crm)
        await crm.leads.insert_one({"_id": 1})
        await woken(acme, 1)
        await store.until(lambda found: found[0]["changes"] == 1)
        key = acme.key
    await crm.leads.insert_one({"_id": 2})
    await crm.leads.delete_one({"_id": 1})
    async with reading(nats.url, crm.url, mongo_prefix, {}) as acme:
        acme.key = key
        await change(acme, operations=["delete"])
    async with reading(nats.url, crm.url, mongo_prefix, environ) as acme:
        found = data_of(await woken(acme, 2))
        assert sorted(data["operation"] for data in found) == ["delete", "insert"]
        assert await messages(acme.nats_url) == 2


async def test_replicas_that_begin_together_share_the_sources(
    nats: EmbeddedServer, crm: Crm, mongo_prefix: str, store: Store
) -> None:
    given = (nats.url, crm.url, mongo_prefix, {"CRM_URL": crm.url})
    async with reading(*given, databases_per_team=30) as first, reading(*given) as second:
        second.key = first.key = await first.make_team()
        for number in range(30):
            await add_source(first, crm.source(name=f"crm{number}", collection=f"c{number}"))
        found = await store.until(lambda all_: len([each for each in all_ if each.get("state") == "reading"]) == 30)
        shares = {owner: sum(each["owner"] == owner for each in found) for owner in {each["owner"] for each in found}}
        assert sum(shares.values()) == 30
        assert len(shares) == 2, shares
