"""A replica is killed at each point of a delivery, and another goes on: nothing is lost, nothing has two ids."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from delivery_center.adapters.mongo_deliveries import MongoDeliveries
from rota_common.runtime.service import Service
from rota_common.testing.bus import short_ack_wait
from rota_common.testing.crash import crash
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import (
    DELIVERY_ACCEPTED,
    DELIVERY_ATTEMPTED,
    DELIVERY_COMPLETED,
    DELIVERY_FAILED,
    DELIVERY_SETTLED,
    Channel,
)
from rota_contracts.messages.delivery import DeliveryPermission, MayDeliver
from tests.integration.delivery.harness import PERMITTED, allow
from tests.integration.delivery.harness import ServersHarness as Harness
from tests.integration.delivery.receivers import HttpReceiver, Mailbox

pytestmark = pytest.mark.once
SHORT_LEASE = {"mail_timeout": 0.1, "attempt_timeout": 2.0}
"""With no margin, others take over after the time of an attempt, and no mail makes that longer."""

FIRST = (DELIVERY_ATTEMPTED, DELIVERY_COMPLETED, DELIVERY_SETTLED, DELIVERY_ACCEPTED)


@pytest.fixture
def harness(own_harness: Harness) -> Harness:
    return own_harness


def hooks(*urls: str) -> dict[str, Any]:
    return {"webhook": {"targets": [{"url": url} for url in urls]}}


class Stuck:
    """A point that is reached and never passed."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def __call__(self, *_: Any) -> Any:
        self.reached.set()
        await asyncio.Event().wait()


def stuck_before(service: Service, channel: Channel[Any]) -> Stuck:
    """From now on the service publishes nothing on this channel."""
    stuck, jetstream = Stuck(), service.bus.jetstream
    publish: Callable[..., Awaitable[Any]] = jetstream.publish

    async def held(subject: str, *args: Any, **given: Any) -> Any:
        return await (stuck() if subject.startswith(channel.type) else publish(subject, *args, **given))

    jetstream.publish = held  # type: ignore[method-assign]  # only so can the moment be met
    return stuck


async def killed_at(point: asyncio.Event, service: Service, harness: Harness) -> None:
    await asyncio.wait_for(point.wait(), PATIENCE_S)
    await killed(service, harness)


async def killed(service: Service, harness: Harness) -> None:
    """What it had in hand comes to another soon, and not only after the usual 15 s."""
    await crash(service)
    await short_ack_wait(harness.nats_url, "delivery-center")


async def each_fact_once(harness: Harness, **expected: int) -> None:
    """Counted in the stream: repeated publications were recognised."""
    kept = {channel.name: [event.id for event in await harness.in_stream(channel)] for channel in FIRST}
    assert {name: len(ids) for name, ids in kept.items()} == {channel.name: 1 for channel in FIRST} | expected


@pytest.mark.soak
async def test_killed_before_sending_it_is_sent_once(harness: Harness, receiver: HttpReceiver) -> None:
    asked, released = asyncio.Event(), asyncio.Event()

    async def later(question: MayDeliver) -> DeliveryPermission:
        asked.set()
        await released.wait()
        return PERMITTED

    harness.permission = later
    await harness.robot({"preferences": hooks(receiver.url())})
    await harness.listen(DELIVERY_ACCEPTED)
    first = await harness.start()
    await harness.request()
    await killed_at(asked, first, harness)
    released.set()
    harness.permission = allow
    await harness.start()
    assert (await harness.events(DELIVERY_ACCEPTED))[0].data.result.success
    assert len(receiver.got) == 1
    await each_fact_once(harness)


@pytest.mark.soak
async def test_killed_while_the_receiver_answers_it_is_sent_again_under_the_same_id(
    harness: Harness, receiver: HttpReceiver
) -> None:
    receiver.hold = asyncio.Event()
    await harness.robot({"preferences": hooks(receiver.url())})
    await harness.listen(DELIVERY_ACCEPTED)
    first = await harness.start()
    await harness.request()
    await receiver.requests(1)
    await killed(first, harness)
    receiver.hold.set()
    await harness.start()
    await harness.events(DELIVERY_ACCEPTED)
    assert len(receiver.got) == 2
    assert len({got.headers["webhook-id"] for got in receiver.got}) == 1
    await each_fact_once(harness)


async def test_killed_between_sending_and_storing_everything_is_sent_again_under_the_same_ids(
    harness: Harness, receiver: HttpReceiver, box: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    email = {"email": {"targets": [{"to": ["a@b.example"]}, {"to": ["c@d.example"]}]}}
    await harness.robot({"preferences": hooks(receiver.url("/a"), receiver.url("/b")) | email})
    await harness.listen(DELIVERY_ACCEPTED)
    with monkeypatch.context() as patch:
        patch.setattr(MongoDeliveries, "record_first", stuck := Stuck())
        first = await harness.start(smtp_url=box.url)
        await harness.request()
        await killed_at(stuck.reached, first, harness)
    await harness.start(smtp_url=box.url)
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    one, two, *hooked = [result.delivery_id for result in accepted.data.result.results]
    assert Counter(got.headers["webhook-id"] for got in receiver.got) == dict.fromkeys(hooked, 2)
    mails = Counter((recipients[0], mail["Message-ID"]) for recipients, mail in box.mails)
    assert mails == {("a@b.example", f"<{one}@acme.example>"): 2, ("c@d.example", f"<{two}@acme.example>"): 2}
    await each_fact_once(harness, **{DELIVERY_ATTEMPTED.name: 4})


@pytest.mark.soak
async def test_preferences_changed_during_a_crash_change_neither_targets_nor_ids(
    harness: Harness, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.robot({"preferences": hooks(receiver.url("/gone"), receiver.url("/kept"))})
    await harness.listen(DELIVERY_ACCEPTED)
    with monkeypatch.context() as patch:
        patch.setattr(MongoDeliveries, "record_first", stuck := Stuck())
        first = await harness.start()
        await harness.request()
        await killed_at(stuck.reached, first, harness)
    changed = {"webhook": {"targets": [{"url": receiver.url("/kept"), "headers": {"x-added": "1"}}]}}
    await harness.robot({"preferences": changed})
    await harness.start()
    await harness.events(DELIVERY_ACCEPTED)
    sent = Counter((got.line.split()[1], got.headers["webhook-id"]) for got in receiver.got)
    assert sorted((path, times) for (path, _), times in sent.items()) == [("/gone", 2), ("/kept", 2)]


@pytest.mark.parametrize("channel", FIRST, ids=lambda channel: channel.name)
@pytest.mark.soak
async def test_killed_between_storing_and_publishing_the_facts_are_published_and_nothing_is_sent_again(
    harness: Harness, receiver: HttpReceiver, channel: Channel[Any]
) -> None:
    await harness.robot({"preferences": hooks(receiver.url())})
    await harness.listen(*FIRST)
    first = await harness.start()
    stuck = stuck_before(first, channel)
    await harness.request()
    await killed_at(stuck.reached, first, harness)
    await harness.start()
    for each in FIRST:
        await harness.events(each)
    assert len(receiver.got) == 1
    await each_fact_once(harness)


@pytest.mark.soak
async def test_killed_before_the_request_is_acknowledged_the_same_fact_is_published_again(
    harness: Harness, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.robot({"preferences": hooks(receiver.url())})
    await harness.listen(DELIVERY_ACCEPTED)
    with monkeypatch.context() as patch:
        patch.setattr("rota_common.bus.handling.acknowledge", stuck := Stuck())
        first = await harness.start()
        await harness.request()
        await killed_at(stuck.reached, first, harness)
    await harness.start()
    one, two = await harness.events(DELIVERY_ACCEPTED, 2)
    assert (one.id, one.data) == (two.id, two.data)
    assert len(receiver.got) == 1
    await each_fact_once(harness)


@pytest.mark.soak
async def test_killed_between_a_retry_and_saving_it_the_retry_comes_again_under_the_same_id(
    harness: Harness, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.will_answer(500)
    await harness.robot({"preferences": hooks(receiver.url())})
    await harness.listen(DELIVERY_SETTLED, DELIVERY_FAILED)
    monkeypatch.setattr("delivery_center.use_cases.LEASE_MARGIN_S", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(MongoDeliveries, "save", stuck := Stuck())
        first = await harness.start(**SHORT_LEASE)
        await harness.request()
        await killed_at(stuck.reached, first, harness)
    await harness.start()
    (settled,) = await harness.events(DELIVERY_SETTLED)
    assert (settled.data.success, settled.data.results[0].attempts) == (True, 2)
    assert [got.headers["webhook-id"] for got in receiver.got] == [settled.data.results[0].delivery_id] * 3
    assert len(await harness.in_stream(DELIVERY_ATTEMPTED)) == 2
