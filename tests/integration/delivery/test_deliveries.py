"""A request to deliver, from the executor's message to what the outside world sees."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from motor.motor_asyncio import AsyncIOMotorClient

from delivery_center.adapters.in_memory_deliveries import InMemoryDeliveries
from delivery_center.domain.delivery import Delivery
from rota_common.stores.blobs import Blobs, Owner
from rota_common.testing.chaos import twice
from rota_contracts.catalog import (
    DELIVERY_ACCEPTED,
    DELIVERY_ATTEMPTED,
    DELIVERY_COMPLETED,
    DELIVERY_FAILED,
    DELIVERY_SETTLED,
    Channel,
)
from rota_contracts.ids import fact_id
from rota_contracts.messages.text import BlobRef, Text
from tests.integration.delivery.harness import InMemoryHarness
from tests.integration.delivery.harness import ServersHarness as Harness
from tests.integration.delivery.receivers import HttpReceiver

ALL: Sequence[Channel[Any]] = (
    DELIVERY_ACCEPTED,
    DELIVERY_ATTEMPTED,
    DELIVERY_COMPLETED,
    DELIVERY_FAILED,
    DELIVERY_SETTLED,
)


def hooks(*urls: str, **more: Any) -> dict[str, Any]:
    return {"preferences": {"webhook": {"targets": [{"url": url} | more for url in urls]}}}


async def test_a_result_reaches_its_webhooks_and_its_facts_are_published(
    harness: Harness, receiver: HttpReceiver
) -> None:
    await harness.robot(hooks(receiver.url("/a?key=secret"), receiver.url("/b")))
    await harness.listen(*ALL)
    await harness.start()
    await harness.request()
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    (completed,), (settled,) = await harness.events(DELIVERY_COMPLETED), await harness.events(DELIVERY_SETTLED)
    assert len(await receiver.requests(2)) == 2  # DC-08
    sent = json.loads(receiver.got[0].body)
    assert (sent["type"], sent["data"]["summary"]) == ("delivery.completed", "15 new leads.")  # DC-03
    assert sent["data"]["context"]["execution_id"] == "e1"  # DC-06
    result = accepted.data.result
    assert result == completed.data.result  # DC-13
    assert (result.request_id, result.success, result.content.summary) == ("r1", True, "15 new leads.")
    assert [each.target for each in result.results] == [receiver.url("/a"), receiver.url("/b")]  # DC-14
    assert [each.details for each in result.results] == [{"status": 200, "body": "thanks"}] * 2
    assert {each.delivery_id for each in result.results} == {got.headers["webhook-id"] for got in receiver.got}
    assert settled.data.success
    attempted = await harness.events(DELIVERY_ATTEMPTED, 2)
    assert all(b"secret" not in event.body() for event in (accepted, completed, settled, *attempted))


async def test_one_document_is_stored_with_the_outcome(harness: Harness, receiver: HttpReceiver) -> None:
    await harness.robot(hooks(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start()
    await harness.request()
    await harness.events(DELIVERY_ACCEPTED)
    client: AsyncIOMotorClient[dict[str, Any]] = AsyncIOMotorClient(harness.settings["mongo_url"])
    (document,) = await client[f"{harness.settings['mongo_prefix']}_delivery"]["deliveries"].find().to_list(9)
    client.close()
    assert (document["_id"], document["context"]["team_id"], document["mode"]) == ("r1", harness.team, "standard")
    assert (document["targets"][0]["state"], len(document["targets"][0]["attempts"])) == ("delivered", 1)
    assert "due_at" not in document


async def test_a_redelivered_request_sends_nothing_and_publishes_the_same_facts(
    harness: Harness, receiver: HttpReceiver
) -> None:
    await harness.robot(hooks(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_COMPLETED)
    service = await harness.start()
    await harness.request()
    first = (await harness.events(DELIVERY_ACCEPTED))[0]
    await harness.request(again=1)
    second = (await harness.events(DELIVERY_ACCEPTED, 2))[1]
    await service.stop(2)
    assert (first.id, first.data) == (second.id, second.data)
    assert len(receiver.got) == 1
    assert [len(await harness.in_stream(channel)) for channel in ALL] == [1, 1, 1, 0, 1]


async def test_everything_handled_twice_is_sent_once(harness: Harness, receiver: HttpReceiver) -> None:
    await harness.robot(hooks(receiver.url("/a"), receiver.url("/b")))
    await harness.listen(DELIVERY_ACCEPTED)
    service = await harness.start(middlewares=(twice,))
    await harness.request()
    await harness.events(DELIVERY_ACCEPTED, 2)
    await service.stop(2)
    assert len(receiver.got) == 2
    assert [len(await harness.in_stream(channel)) for channel in ALL] == [1, 2, 1, 0, 1]


class CrashAfterInsert(InMemoryDeliveries):
    """Dies once, when the delivery is stored and nothing is published."""

    def __init__(self) -> None:
        super().__init__()
        self.crashed = False

    async def insert(self, delivery: Delivery) -> Delivery:
        stored = await super().insert(delivery)
        if not self.crashed:
            self.crashed = True
            raise RuntimeError("killed")
        return stored


async def test_a_crash_between_storing_and_publishing_loses_nothing(
    in_memory_harness: InMemoryHarness, receiver: HttpReceiver
) -> None:
    harness = in_memory_harness
    await harness.robot(hooks(receiver.url()))
    harness.deliveries = store = CrashAfterInsert()
    await harness.start()
    await harness.request()
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    assert store.crashed
    assert len(receiver.got) == 1
    assert accepted.id == fact_id("r1", DELIVERY_ACCEPTED.subject(harness.team, "ann"))
    (completed,) = await harness.events(DELIVERY_COMPLETED)
    assert completed.id == fact_id("r1", DELIVERY_COMPLETED.subject(harness.team, "ann"))


async def test_a_delivery_center_that_stops_saves_the_numbers_of_its_feed(
    in_memory_harness: InMemoryHarness, receiver: HttpReceiver
) -> None:
    harness = in_memory_harness
    await harness.robot(hooks(receiver.url()))
    service = await harness.start()
    await harness.request()
    await harness.events(DELIVERY_ACCEPTED)
    await service.stop(1)
    assert await harness.feed_counts.last(DELIVERY_COMPLETED.subject(harness.team, "ann")) == 1


@pytest.mark.once
async def test_two_replicas_deliver_each_request_once(harness: Harness, receiver: HttpReceiver) -> None:
    await harness.robot(hooks(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED)
    await asyncio.gather(harness.start(), harness.start())
    await asyncio.gather(*(harness.request(f"r{number}") for number in range(30)))
    await harness.events(DELIVERY_ACCEPTED, 30)
    assert len(receiver.got) == len({got.headers["webhook-id"] for got in receiver.got}) == 30


@pytest.mark.parametrize("mode", ["dryrun", "sandbox"])
async def test_a_dry_run_sends_nothing_and_publishes_the_same_facts(
    harness: Harness, receiver: HttpReceiver, mode: str
) -> None:
    await harness.robot(hooks(receiver.url("/a"), receiver.url("/b")))
    await harness.listen(*ALL)
    await harness.start()
    await harness.request(executor_mode=mode)
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    assert [(each.success, each.details) for each in accepted.data.result.results] == [(True, {"recorded": True})] * 2
    await harness.events(DELIVERY_ATTEMPTED, 2)
    await harness.events(DELIVERY_SETTLED)
    assert receiver.got == []


async def test_a_disabled_channel_receives_nothing(harness: Harness, receiver: HttpReceiver) -> None:  # DC-12
    preferences = hooks(receiver.url())
    preferences["preferences"]["webhook"]["enabled"] = False
    await harness.robot(preferences)
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    await harness.start()
    await harness.request()
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    assert (accepted.data.result.success, accepted.data.result.results) == (True, [])
    assert (await harness.events(DELIVERY_SETTLED))[0].data.success
    assert receiver.got == []


async def test_the_short_form_of_preferences_is_followed(harness: Harness, receiver: HttpReceiver) -> None:  # DEC-11
    await harness.robot({"type": "webhook", "opts": {"url": receiver.url("/leads")}})
    await harness.start()
    await harness.request()
    assert (await receiver.requests(1))[0].line == "POST /leads HTTP/1.1"


@pytest.mark.parametrize("there", [True, False])
async def test_a_missing_or_deleted_robot_fails_its_delivery(
    harness: Harness, receiver: HttpReceiver, there: bool
) -> None:
    if there:
        await harness.robot(hooks(receiver.url()), deleted=True)
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start()
    await harness.request()
    result = (await harness.events(DELIVERY_ACCEPTED))[0].data.result
    assert (result.success, result.results) == (False, [])
    assert "robot ann" in result.error
    assert receiver.got == []


async def test_a_long_text_is_read_from_the_object_store(harness: Harness, receiver: HttpReceiver) -> None:
    text = await Blobs(harness.executor.bus).keep("x" * 1000, owner=Owner("acme", "e1"), inline_limit=10)
    await harness.robot(hooks(receiver.url()))
    await harness.start()
    await harness.request(content={"summary": "long", "body": text.model_dump()})
    (got,) = await receiver.requests(1)
    assert json.loads(got.body)["data"]["body"] == "x" * 1000


async def test_a_request_that_is_buried_is_answered(harness: Harness, receiver: HttpReceiver) -> None:
    kept = await Blobs(harness.executor.bus).keep("x" * 1000, owner=Owner("acme", "e1"), inline_limit=10)
    assert kept.ref is not None
    spoilt = Text(ref=BlobRef(bucket=kept.ref.bucket, name=kept.ref.name, size=1000, sha256="0" * 64))
    await harness.robot(hooks(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start()
    await harness.request(content={"summary": "spoilt", "body": spoilt.model_dump()})
    result = (await harness.events(DELIVERY_ACCEPTED))[0].data.result
    assert (result.success, result.results) == (False, [])
    assert "isn't what was stored" in result.error
    assert receiver.got == []


async def test_a_ready_service_reports_no_problems(harness: Harness) -> None:
    service = await harness.start()
    assert await service.problems() == {}
    assert service.channels == {"delivery.requested", "robot.deleted", "team.removed", "notice.requested"}
