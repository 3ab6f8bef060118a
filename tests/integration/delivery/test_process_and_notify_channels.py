"""Processes and notifications on NATS, and all four channels together."""

import json

import nats as nats_py
import pytest
from nats.aio.msg import Msg

from rota_contracts.catalog import (
    DELIVERY_FAILED,
    DELIVERY_SETTLED,
    LIST_SUBSCRIPTIONS,
    NOTIFICATION_POSTED,
    SUBSCRIBE,
    UNSUBSCRIBE,
    process_subject,
)
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.messages.notification import ListSubscriptions, Subscribe, Unsubscribe
from tests.integration.delivery.harness import ServersHarness as Harness
from tests.integration.delivery.harness import outcome, to
from tests.integration.delivery.receivers import HttpReceiver, Mailbox


class Process:
    """Answers the processes of a team with scripted replies."""

    def __init__(self, harness: Harness) -> None:
        self._url = harness.nats_url
        self._team = harness.team
        self.asked: list[Msg] = []

    async def answer(self, name: str, reply: bytes, headers: dict[str, str] | None = None) -> None:
        self._client = await nats_py.connect(self._url)

        async def respond(message: Msg) -> None:
            self.asked.append(message)
            await self._client.publish(message.reply, reply, headers=headers)

        await self._client.subscribe(process_subject(self._team, name), cb=respond)
        await self._client.flush()

    async def close(self) -> None:
        await self._client.close()


async def test_a_process_is_called_with_its_arguments_and_the_result(harness: Harness) -> None:  # DC-11
    process = Process(harness)
    await process.answer("orders.UpdateStatus", b'{"updated": 1}')
    target = {"name": "orders.UpdateStatus", "args": ["completed", {"n": 1}]}
    (result,) = await outcome(harness, to("process", target))
    await process.close()
    (message,) = process.asked
    asked = json.loads(message.data)
    assert (asked["args"], asked["delivery_id"]) == (["completed", {"n": 1}], result.delivery_id)
    assert asked["delivery"]["summary"] == "15 new leads."
    assert asked["delivery"]["context"]["execution_id"] == "e1"
    assert message.headers is not None
    assert {message.headers[name] for name in ("Nats-Msg-Id", "rota-idempotency-key")} == {result.delivery_id}
    assert (result.target, result.success, result.details) == ("orders.UpdateStatus", True, {"reply": {"updated": 1}})


@pytest.mark.parametrize(
    ("reply", "kept"), [(b"plain", "plain"), (b'"' + b"x" * 9000 + b'"', '"' + "x" * 2047), (b"", ""), (b"NaN", "NaN")]
)
async def test_a_reply_that_is_long_or_not_json_is_stored_as_text(harness: Harness, reply: bytes, kept: str) -> None:
    process = Process(harness)
    await process.answer("audit", reply)
    (result,) = await outcome(harness, to("process", {"process": "audit"}))
    await process.close()
    assert (result.success, result.details) == (True, {"reply": kept})


async def test_numbers_and_names_that_mongodb_does_not_know_are_kept(harness: Harness) -> None:
    odd = {"$big": 2**80, "a.b\u0000c": [1.5, None]}
    process = Process(harness)
    await process.answer("audit", json.dumps(odd).encode())
    (result,) = await outcome(harness, to("process", {"process": "audit", "args": [odd]}))
    await process.close()
    assert result.details == {"reply": odd}
    assert json.loads(process.asked[0].data)["args"] == [odd]


async def test_a_process_that_answers_with_an_error_has_failed(harness: Harness) -> None:
    process = Process(harness)
    await process.answer(
        "audit", b"", headers={"Nats-Service-Error": "no such order", "Nats-Service-Error-Code": "404"}
    )
    (result,) = await outcome(harness, to("process", {"process": "audit"}))
    await process.close()
    assert (result.final, result.error) == (True, "process audit failed: 404 no such order")


async def test_a_process_without_a_responder_is_retried(harness: Harness) -> None:
    await harness.listen(DELIVERY_SETTLED)
    (result,) = await outcome(harness, to("process", {"process": "audit"}), retry_schedule=(0.5,))
    assert (result.final, result.error) == (False, "no program answers process audit")
    process = Process(harness)
    await process.answer("audit", b"{}")
    (settled,) = await harness.events(DELIVERY_SETTLED)
    await process.close()
    assert settled.data.success


async def test_a_process_of_another_team_is_not_called(harness: Harness) -> None:
    process = Process(harness)
    client = await nats_py.connect(harness.nats_url)
    heard: list[Msg] = []

    async def respond(message: Msg) -> None:
        heard.append(message)

    await client.subscribe(process_subject("other", "audit"), cb=respond)
    await process.answer("audit", b"{}")
    (result,) = await outcome(harness, to("process", {"process": "audit"}))
    await client.flush()
    await client.close()
    await process.close()
    assert (result.success, heard) == (True, [])


# Notifications, and all channels together


async def test_a_notification_is_an_event(harness: Harness) -> None:  # DC-07, DEC-12
    await harness.listen(NOTIFICATION_POSTED)
    (result,) = await outcome(harness, to("notify", {"channel": "sales"}))
    (posted,) = await harness.events(NOTIFICATION_POSTED)
    assert (posted.data.notification_id, posted.data.channel) == (result.delivery_id, "sales")
    assert (posted.data.title, posted.data.body) == ("15 new leads.", "# Leads\n\n- one")
    assert posted.data.subscriber is None
    assert result.details == {"event_id": posted.id, "subscribers": 0}


async def test_a_notification_is_posted_once_for_each_subscriber_of_its_channel(
    harness: Harness,
) -> None:  # DC-07, DEC-12
    await harness.listen(NOTIFICATION_POSTED)
    await harness.start()
    mine = harness.team
    for subscriber, channel, team in (("ann", "sales", mine), ("zoe", "sales", mine), ("ann", "sales", mine)):
        await harness.ask(SUBSCRIBE, Subscribe(team_id=team, channel=channel, subscriber=subscriber))
    for channel, team in (("ops", mine), ("sales", "other")):
        await harness.ask(SUBSCRIBE, Subscribe(team_id=team, channel=channel, subscriber="bob"))
    await harness.ask(SUBSCRIBE, Subscribe(team_id=harness.team, channel="sales", subscriber="left"))
    left = await harness.ask(UNSUBSCRIBE, Unsubscribe(team_id=harness.team, channel="sales", subscriber="left"))
    assert [one.subscriber for one in left.subscriptions] == ["ann", "zoe"]
    listed = await harness.ask(LIST_SUBSCRIPTIONS, ListSubscriptions(team_id=harness.team))
    assert [(one.channel, one.subscriber) for one in listed.subscriptions] == [
        ("ops", "bob"),
        ("sales", "ann"),
        ("sales", "zoe"),
    ]
    (result,) = await outcome(harness, to("notify", {"channel": "sales"}))
    posted = await harness.events(NOTIFICATION_POSTED, 2)
    assert {event.data.subscriber for event in posted} == {"ann", "zoe"}
    assert {event.data.notification_id for event in posted} == {result.delivery_id}
    assert result.details == {"subscribers": 2}


async def test_every_channel_with_several_targets_at_once(
    harness: Harness, receiver: HttpReceiver, box: Mailbox
) -> None:  # DC-07, DC-08
    process = Process(harness)
    await process.answer("audit", b"{}")
    await harness.listen(NOTIFICATION_POSTED, DELIVERY_FAILED)
    preferences = {
        "preferences": {
            "email": {"targets": [{"to": ["a@b.example"]}, {"to": ["c@d.example"]}]},
            "webhook": {"targets": [{"url": receiver.url("/a")}, {"url": receiver.url("/b")}]},
            "process": {"targets": [{"name": "audit"}, {"name": "audit", "args": [1]}]},
            "notify": {"targets": [{"channel": "x"}, {}]},
        }
    }
    results = await outcome(harness, preferences, smtp_url=box.url)
    await process.close()
    assert [result.type for result in results] == [kind for kind in DeliveryType for _ in range(2)]
    assert all(result.success for result in results)
    assert (len(box.mails), len(receiver.got), len(process.asked)) == (2, 2, 2)
    assert len(await harness.events(NOTIFICATION_POSTED, 2)) == 2
