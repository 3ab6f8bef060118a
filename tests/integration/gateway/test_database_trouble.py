"""A database that can't be read, or has forgotten what happened: nothing of it goes unsaid (F21)."""

import asyncio
from typing import Any

import pytest

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.stores.mongo import Mongo
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
    until,
    until_state,
    woken,
)
from tests.integration.gateway.harness import Gateway

pytestmark = IGNORES_CUT_OFF_SOCKETS


async def prepared(gateway: Gateway, source: dict[str, Any]) -> None:
    gateway.key = await gateway.make_team()
    await add_robot(gateway, subscribed())
    await add_source(gateway, source)


def keys(found: list[dict[str, Any]]) -> list[Any]:
    return sorted(data["document_key"]["_id"] for data in found)


async def test_a_dropped_collection_is_said_and_its_successor_is_read(
    nats: EmbeddedServer, crm: Crm, mongo_prefix: str
) -> None:
    async with reading(nats.url, crm.url, mongo_prefix, {"CRM_URL": crm.url}) as acme:
        await prepared(acme, crm.source())
        await crm.leads.insert_one({"_id": 1})
        await woken(acme, 1)
        await crm.leads.drop()
        await crm.leads.insert_one({"_id": 2})
        lost = await until_state(acme, "lost")
        assert "dropped or renamed" in lost["reason"]
        assert lost["since"] is not None
        await crm.leads.insert_one({"_id": 3})
        assert keys(data_of(await woken(acme, 3))) == [1, 2, 3]
        assert (await read_source(acme))["reading"]["state"] == "lost"
        changed = await acme.call("PATCH", "/v1/teams/acme/sources/crm", json={"operations": ["insert"]})
        assert changed.status_code == 200, changed.text
        await until_state(acme, "reading")


async def test_a_place_that_the_database_has_forgotten_is_said_and_reading_goes_on_from_now(
    nats: EmbeddedServer, crm: Crm, mongo_prefix: str
) -> None:
    environ = {"CRM_URL": crm.url}
    async with reading(nats.url, crm.url, mongo_prefix, environ) as acme:
        await prepared(acme, crm.source())
        await crm.leads.insert_one({"_id": 1})
        await woken(acme, 1)
        await until(acme, lambda found: found["changes"] == 1)
        place, key = await place_of_the_last_event(acme), acme.key
    store = Mongo(crm.url, f"{mongo_prefix}_gateway")
    readings = store.database["readings"]
    forgotten = place[:2] + "60000000" + place[10:]  # the same, but for its instant in 2021
    assert (await readings.update_one({}, {"$set": {"after": forgotten}})).modified_count == 1
    await store.close()
    await crm.leads.insert_one({"_id": 2})
    async with reading(nats.url, crm.url, mongo_prefix, environ) as acme:
        acme.key = key
        lost = await until_state(acme, "lost")
        assert "lost" in lost["reason"]
        await crm.leads.insert_one({"_id": 3})
        assert keys(data_of(await woken(acme, 2))) == [1, 3]


async def place_of_the_last_event(gateway: Gateway) -> str:
    """The log has it a moment later."""
    async with asyncio.timeout(PATIENCE_S):
        while not (lines := (await gateway.call("GET", "/v1/teams/acme/sources/crm/log")).json()["lines"]):
            await asyncio.sleep(0.05)
    return str(lines[0]["event_id"])


async def test_nothing_is_lost_while_the_address_is_missing(nats: EmbeddedServer, crm: Crm, mongo_prefix: str) -> None:
    environ: dict[str, str] = {}
    async with reading(nats.url, crm.url, mongo_prefix, environ) as acme:
        await prepared(acme, crm.source())
        await until(acme, lambda found: found["state"] == "waiting" and "CRM_URL" in found["reason"])
        await crm.leads.insert_one({"_id": 1})
        environ["CRM_URL"] = crm.url
        assert keys(data_of(await woken(acme, 1))) == [1]
        await until_state(acme, "reading")


WRONG = {
    "mongodb://{host}/?replicaSet=rota&connectTimeoutMS=1&serverSelectionTimeoutMS=1": "doesn't answer",
    "mongodb://rota:hunter2@{there}": "refuses the user or the password",
    "postgres://rota:hunter2@{there}": "doesn't hold the address of a MongoDB",
    "mongodb://rota:hunter2@{host}": "doesn't answer",
}


@pytest.mark.parametrize("address", WRONG)
async def test_a_database_that_cant_be_read_is_said_without_its_address(
    nats: EmbeddedServer, crm: Crm, mongo_prefix: str, address: str, capfd: pytest.CaptureFixture[str]
) -> None:
    there = crm.url.removeprefix("mongodb://")
    environ = {"CRM_URL": address.format(there=there, host="127.0.0.1:9")}
    async with reading(nats.url, crm.url, mongo_prefix, environ) as acme:
        await prepared(acme, crm.source())
        waiting = await until(acme, lambda found: found["state"] == "waiting" and WRONG[address] in found["reason"])
        assert waiting["since"] is not None
        environ["CRM_URL"] = crm.url
        await until_state(acme, "reading")
        shown = (await acme.call("GET", "/v1/teams/acme/sources/crm")).text
    written = "".join(capfd.readouterr())
    assert WRONG[address] in written
    for secret in ("hunter2", "127.0.0.1:9", "mongodb://", "postgres://"):
        assert secret not in shown + str(waiting)
        assert secret not in "\n".join(line for line in written.splitlines() if "reading" in line)


async def test_changes_wait_for_the_bus(nats: EmbeddedServer, crm: Crm, mongo_prefix: str) -> None:
    async with reading(nats.url, crm.url, mongo_prefix, {"CRM_URL": crm.url}) as acme:
        await prepared(acme, crm.source())
        await until_state(acme, "reading")
        await nats.kill()
        await crm.leads.insert_many([{"_id": number} for number in range(300)])
        await until_state(acme, "waiting")
        await nats.start()
        assert keys(data_of(await woken(acme, 300))) == list(range(300))
        await until_state(acme, "reading")
