"""Changes of a customer's MongoDB become triggers (TG-12, F21)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest_asyncio
from bson import Decimal128, ObjectId

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.ids import event_trigger_id
from rota_contracts.messages.trigger import TriggerType
from tests.integration.gateway.fixtures import (
    IGNORES_CUT_OFF_SOCKETS,
    Crm,
    add_robot,
    add_source,
    data_of,
    reading,
    subscribed,
    until,
    until_state,
    woken,
)
from tests.integration.gateway.harness import Gateway

pytestmark = IGNORES_CUT_OFF_SOCKETS


@pytest_asyncio.fixture
async def acme(nats: EmbeddedServer, crm: Crm, mongo_prefix: str) -> AsyncIterator[Gateway]:
    async with reading(nats.url, crm.url, mongo_prefix, {"CRM_URL": crm.url}) as made:
        made.key = await made.make_team()
        yield made


def facts(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "at"}


async def test_an_insert_wakes_the_robots_that_subscribe_to_it(acme: Gateway, crm: Crm) -> None:  # TG-12
    await add_robot(acme, subscribed("all"))
    await add_robot(acme, subscribed("inserts", filter={"trigger": "insert"}))
    await add_robot(acme, subscribed("deletes", filter={"trigger": "delete"}))
    await add_robot(acme, subscribed("webhooks", type="webhook"))
    await add_robot(acme, subscribed("others", source="erp"))
    await add_source(acme, crm.source())
    await crm.leads.insert_one({"_id": 1, "name": "Ada"})  # the reader may not have begun by now
    found = await woken(acme, 2)
    assert sorted(each.member_id for each in found) == ["all", "inserts"]
    for trigger in found:
        assert (trigger.type, trigger.input.source, trigger.input.event_type) == (TriggerType.EVENT, "crm", "insert")
        assert facts(trigger.input.data) == {
            "operation": "insert",
            "document_key": {"_id": 1},
            "document": {"_id": 1, "name": "Ada"},
            "updated_fields": {},
            "removed_fields": [],
        }
        assert abs(datetime.fromisoformat(trigger.input.data["at"]) - trigger.received_at).total_seconds() < 10


async def test_documents_from_before_the_source_wake_no_robot(acme: Gateway, crm: Crm) -> None:
    await add_robot(acme, subscribed())
    await crm.leads.insert_one({"_id": "before"})
    await crm.later(1)
    await add_source(acme, crm.source())
    await crm.leads.insert_one({"_id": "after"})
    [data] = data_of(await woken(acme, 1))
    assert data["document_key"] == {"_id": "after"}


async def test_a_change_of_each_kind_says_what_has_changed(acme: Gateway, crm: Crm) -> None:
    await add_robot(acme, subscribed())
    await add_source(acme, crm.source())
    await crm.leads.insert_one({"_id": 1, "stage": "new", "note": "x"})
    await crm.leads.update_one({"_id": 1}, {"$set": {"stage": "won"}, "$unset": {"note": ""}})
    await woken(acme, 2)  # an update carries the document as it is when it is read
    await crm.leads.replace_one({"_id": 1}, {"stage": "lost"})
    await crm.leads.delete_one({"_id": 1})
    key = {"document_key": {"_id": 1}}
    nothing: dict[str, Any] = {"updated_fields": {}, "removed_fields": []}
    changed = {"updated_fields": {"stage": "won"}, "removed_fields": ["note"]}
    by_kind = {data["operation"]: facts(data) for data in data_of(await woken(acme, 4))}
    assert by_kind == {
        "insert": {"operation": "insert", "document": {"_id": 1, "stage": "new", "note": "x"}} | key | nothing,
        "update": {"operation": "update", "document": {"_id": 1, "stage": "won"}} | key | changed,
        "replace": {"operation": "replace", "document": {"_id": 1, "stage": "lost"}} | key | nothing,
        "delete": {"operation": "delete", "document": None} | key | nothing,
    }


async def test_a_source_takes_its_operations_and_what_fulfils_its_conditions(acme: Gateway, crm: Crm) -> None:
    await add_robot(acme, subscribed())
    large = {"path": "document.amount", "op": "ge", "value": 1000}
    await add_source(acme, crm.source(operations=["update"], conditions=[large]))
    await crm.leads.insert_many([{"_id": n, "amount": n} for n in (1, 2, 3000)])
    await crm.leads.update_one({"_id": 3000}, {"$set": {"amount": 900}})
    await woken_only_by(acme, crm)


async def woken_only_by(acme: Gateway, crm: Crm) -> None:
    """The last change alone is one that fits."""
    await crm.leads.update_one({"_id": 1}, {"$set": {"amount": 1000}})
    [data] = data_of(await woken(acme, 1))
    assert (data["operation"], data["document_key"]) == ("update", {"_id": 1})


async def test_a_subscription_takes_what_fulfils_its_own_conditions(acme: Gateway, crm: Crm) -> None:  # TG-12
    won = {"path": "updated_fields.stage", "value": "won"}
    await add_robot(acme, subscribed("closer", filter={"trigger": "update", "conditions": [won]}))
    await add_robot(acme, subscribed("witness", filter={"trigger": "update"}))
    await add_source(acme, crm.source())
    await crm.leads.insert_one({"_id": 1, "stage": "won"})
    for stage in ("open", "won"):
        await crm.leads.update_one({"_id": 1}, {"$set": {"stage": stage}})
    found = await woken(acme, 3)
    assert sorted((each.member_id, each.input.data["updated_fields"]["stage"]) for each in found) == [
        ("closer", "won"),
        ("witness", "open"),
        ("witness", "won"),
    ]


async def test_mongodbs_own_types_are_published_as_its_relaxed_json(acme: Gateway, crm: Crm) -> None:
    await add_robot(acme, subscribed())
    await add_source(acme, crm.source())
    at = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    await crm.leads.insert_one({"_id": ObjectId("a" * 24), "at": at, "price": Decimal128("9.90"), "no": 2**40})
    [data] = data_of(await woken(acme, 1))
    assert data["document"] == {
        "_id": {"$oid": "a" * 24},
        "at": {"$date": "2026-03-02T09:00:00Z"},
        "price": {"$numberDecimal": "9.90"},
        "no": 2**40,
    }


async def test_a_document_too_large_for_a_message_wakes_the_robot_without_it(acme: Gateway, crm: Crm) -> None:
    await add_robot(acme, subscribed())
    await add_source(acme, crm.source())
    await crm.leads.insert_one({"_id": 1, "text": "x" * 600_000})
    await crm.leads.insert_one({"_id": 2, "numbers": [-1_234_567_890] * 50_000})  # as JSON alone it is too large
    await crm.leads.update_one({"_id": 1}, {"$set": {"text": "y" * 700_000}})
    found = data_of(await woken(acme, 3))
    for data in found:
        assert (data["document"], data["truncated"]) == (None, True)
    assert sorted((data["operation"], data["document_key"]["_id"]) for data in found) == [
        ("insert", 1),
        ("insert", 2),
        ("update", 1),
    ]
    [updated] = [data for data in found if data["operation"] == "update"]
    assert updated["updated_fields"] is None


async def test_a_change_that_cant_be_an_event_is_logged_and_delays_no_other(acme: Gateway, crm: Crm) -> None:
    await add_robot(acme, subscribed())
    await add_source(acme, crm.source())
    await crm.leads.insert_one({"_id": "x" * 600_000})
    await crm.leads.insert_one({"_id": 2})
    [data] = data_of(await woken(acme, 1))
    assert data["document_key"] == {"_id": 2}
    log = await until_logged(acme, 2)
    assert {line["status"]: line["reason"] for line in log} == {"accepted": None, "refused": "too_large"}


async def until_logged(gateway: Gateway, count: int) -> list[dict[str, Any]]:
    """The lines of the log; they are written a moment after the triggers."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answer = await gateway.call("GET", "/v1/teams/acme/sources/crm/log")
            assert answer.status_code == 200, answer.text
            if len(lines := answer.json()["lines"]) >= count:
                return list(lines)
            await asyncio.sleep(0.05)


async def test_a_sources_page_says_how_it_is_read(acme: Gateway, crm: Crm) -> None:
    await add_source(acme, crm.source())
    begun = await until_state(acme, "reading")
    assert (begun["changes"], begun["last_change_at"], begun["reason"]) == (0, None, "")
    await crm.leads.insert_many([{"_id": n} for n in range(3)])
    read = await until(acme, lambda found: found["changes"] == 3)
    assert read["state"] == "reading"
    assert read["since"] == begun["since"]
    assert read["last_change_at"] > begun["since"]


async def test_the_log_of_a_source_holds_each_change(acme: Gateway, crm: Crm) -> None:
    await add_robot(acme, subscribed(filter={"trigger": "insert"}))
    await add_source(acme, crm.source())
    await crm.leads.insert_one({"_id": 1})
    await crm.leads.delete_one({"_id": 1})
    [trigger] = await woken(acme, 1)
    lines = {line["type"]: line for line in await until_logged(acme, 2)}
    assert set(lines) == {"insert", "delete"}
    assert lines["delete"]["triggers"] == []
    event_id = lines["insert"]["event_id"]
    assert trigger.trigger_id == event_trigger_id("acme", "crm", event_id, "leader")
