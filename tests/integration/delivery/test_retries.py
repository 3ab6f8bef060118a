"""Later attempts, on real servers."""

import asyncio
from typing import Any

import pytest

from rota_contracts.catalog import (
    DELIVERY_ACCEPTED,
    DELIVERY_ATTEMPTED,
    DELIVERY_COMPLETED,
    DELIVERY_FAILED,
    DELIVERY_SETTLED,
    RETRY_DELIVERIES,
)
from rota_contracts.messages.delivery_log import RetryDeliveries
from tests.integration.delivery.harness import Harness
from tests.integration.delivery.receivers import HttpReceiver, http_receiver


def hook(url: str) -> dict[str, Any]:
    return {"preferences": {"webhook": {"targets": [{"url": url}]}}}


@pytest.mark.once
async def test_a_receiver_that_was_down_gets_it_later_under_the_same_id(
    harness: Harness, receiver: HttpReceiver
) -> None:
    receiver.will_answer(500)
    await harness.robot(hook(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_ATTEMPTED, DELIVERY_COMPLETED, DELIVERY_SETTLED)
    service = await harness.start()
    await harness.request()
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    (first,) = accepted.data.result.results
    assert (first.success, first.final, first.details) == (False, False, {"status": 500, "body": "as scripted"})
    (settled,) = await harness.events(DELIVERY_SETTLED)
    assert (settled.data.success, settled.data.results[0].attempts) == (True, 2)
    one, two = receiver.got
    assert one.headers["webhook-id"] == two.headers["webhook-id"] == first.delivery_id
    assert one.body == two.body
    attempted = await harness.events(DELIVERY_ATTEMPTED, 2)
    assert [(each.data.attempt, each.data.result.success) for each in attempted] == [(1, False), (2, True)]
    await service.stop(2)
    assert len(await harness.in_stream(DELIVERY_COMPLETED)) == 1


@pytest.mark.once
async def test_what_waits_for_hours_is_delivered_when_a_person_asks_or_the_receiver_answers_again(
    harness: Harness, receiver: HttpReceiver
) -> None:
    receiver.will_answer(500, 500)
    await harness.robot(hook(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    await harness.start(retry_schedule=[3600])
    for request_id in ("r1", "r2"):
        await harness.request(request_id)
    waiting = await harness.events(DELIVERY_ACCEPTED, 2)
    assert [each.data.result.results[0].final for each in waiting] == [False, False]
    asked = await harness.ask(RETRY_DELIVERIES, RetryDeliveries(team_id=harness.team, request_id="r1"))
    assert [(each.request_id, each.targets) for each in asked.retried] == [("r1", 1)]
    settled = await harness.events(DELIVERY_SETTLED, 2)  # r2 by itself, once r1 has arrived
    assert [each.data.success for each in settled] == [True, True]
    ids = [got.headers["webhook-id"] for got in receiver.got]
    assert sorted(ids[2:]) == sorted(ids[:2])


async def test_a_receiver_that_stays_down_is_given_up(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.will_answer(503, 503, 503, 503)
    await harness.robot(hook(receiver.url()))
    await harness.listen(DELIVERY_FAILED, DELIVERY_SETTLED)
    await harness.start()
    await harness.request()
    (failed,) = await harness.events(DELIVERY_FAILED)
    assert failed.data.result.error == "answered 503 (given up after 3 attempts)"
    assert (await harness.events(DELIVERY_SETTLED))[0].data.success is False
    assert len(receiver.got) == 3


async def test_gone_is_final_at_once(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.will_answer(410)
    await harness.robot(hook(receiver.url()))
    await harness.listen(DELIVERY_FAILED, DELIVERY_SETTLED)
    await harness.start()
    await harness.request()
    (failed,) = await harness.events(DELIVERY_FAILED)
    assert (failed.data.result.error, failed.data.result.attempts) == ("answered 410", 1)
    await harness.events(DELIVERY_SETTLED)
    assert len(receiver.got) == 1


async def test_retry_after_is_respected(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.will_answer(429, retry_after="1")
    await harness.robot(hook(receiver.url()))
    await harness.listen(DELIVERY_SETTLED)
    await harness.start(retry_schedule=(0.01, 2))
    await harness.request()
    (settled,) = await harness.events(DELIVERY_SETTLED)
    one, two = receiver.got
    assert settled.data.success
    assert int(two.headers["webhook-timestamp"]) > int(one.headers["webhook-timestamp"])


@pytest.mark.once
async def test_replicas_divide_the_retries(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.will_answer(*[500] * 30)
    members = [f"robot-{number}" for number in range(30)]
    for member in members:  # each has a target of its own: one that fails again and again would be left alone
        await harness.robot(hook(receiver.url(f"/{member}")), member_id=member)
    await harness.listen(DELIVERY_SETTLED)
    many = (0.05,) * 10  # the first requests get the 500s, and those may be retries
    await asyncio.gather(*(harness.start(retry_schedule=many) for _ in range(3)))
    context = {"team_id": harness.team, "execution_id": "e1", "trigger_type": "event"}
    await asyncio.gather(
        *(harness.request(member, member_id=member, context=context | {"member_id": member}) for member in members)
    )
    settled = await harness.events(DELIVERY_SETTLED, 30)
    assert all(each.data.success for each in settled)
    sent = sum(each.data.results[0].attempts for each in settled)
    assert len(receiver.got) == sent


async def test_another_replica_takes_over_what_the_first_left(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.will_answer(500)
    await harness.robot(hook(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    first = await harness.start(retry_schedule=(1,))
    await harness.request()
    await harness.events(DELIVERY_ACCEPTED)
    await first.stop(2)
    await harness.start()
    assert (await harness.events(DELIVERY_SETTLED))[0].data.success
    assert len(receiver.got) == 2


async def test_deleting_the_robot_stops_the_retries(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.will_answer(500)
    await harness.robot(hook(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_FAILED, DELIVERY_SETTLED)
    await harness.start(retry_schedule=(3600,))
    await harness.request()
    await harness.events(DELIVERY_ACCEPTED)
    await harness.delete_robot()
    (failed,) = await harness.events(DELIVERY_FAILED)
    assert (failed.data.result.error, failed.data.result.final) == ("the robot ann was deleted", True)
    assert (await harness.events(DELIVERY_SETTLED))[0].data.success is False
    assert len(receiver.got) == 1


async def test_a_slow_receiver_does_not_block_the_retries_of_others(harness: Harness, receiver: HttpReceiver) -> None:
    async with http_receiver() as slow:
        slow.will_answer(500, 500)
        await harness.robot(hook(slow.url()))
        await harness.listen(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
        await harness.start()
        await harness.request("slow")
        await harness.events(DELIVERY_ACCEPTED)
        slow.hold = asyncio.Event()
        await slow.requests(2)  # its retry hangs now
        receiver.will_answer(500)
        await harness.robot(hook(receiver.url()))
        await harness.request("quick")
        (settled,) = await harness.events(DELIVERY_SETTLED)
        assert (settled.data.request_id, settled.data.success) == ("quick", True)
        slow.hold.set()
