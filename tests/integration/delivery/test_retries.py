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
)
from tests.integration.delivery.conftest import World
from tests.integration.delivery.receivers import HttpReceiver, http_receiver


def hook(url: str) -> dict[str, Any]:
    return {"preferences": {"webhook": {"targets": [{"url": url}]}}}


@pytest.mark.once
async def test_a_receiver_that_was_down_gets_it_later_under_the_same_id(world: World, receiver: HttpReceiver) -> None:
    receiver.will_answer(500)
    await world.robot(hook(receiver.url()))
    await world.hear(DELIVERY_ACCEPTED, DELIVERY_ATTEMPTED, DELIVERY_COMPLETED, DELIVERY_SETTLED)
    service = await world.start()
    await world.request()
    (accepted,) = await world.heard(DELIVERY_ACCEPTED)
    (first,) = accepted.data.result.results
    assert (first.success, first.final, first.details) == (False, False, {"status": 500, "body": "as scripted"})
    (settled,) = await world.heard(DELIVERY_SETTLED)
    assert (settled.data.success, settled.data.results[0].attempts) == (True, 2)
    one, two = receiver.got
    assert one.headers["webhook-id"] == two.headers["webhook-id"] == first.delivery_id
    assert one.body == two.body
    attempted = await world.heard(DELIVERY_ATTEMPTED, 2)
    assert [(each.data.attempt, each.data.result.success) for each in attempted] == [(1, False), (2, True)]
    await service.stop(2)
    assert len(await world.kept(DELIVERY_COMPLETED)) == 1


async def test_a_receiver_that_stays_down_is_given_up(world: World, receiver: HttpReceiver) -> None:
    receiver.will_answer(503, 503, 503, 503)
    await world.robot(hook(receiver.url()))
    await world.hear(DELIVERY_FAILED, DELIVERY_SETTLED)
    await world.start()
    await world.request()
    (failed,) = await world.heard(DELIVERY_FAILED)
    assert failed.data.result.error == "answered 503 (given up after 3 attempts)"
    assert (await world.heard(DELIVERY_SETTLED))[0].data.success is False
    assert len(receiver.got) == 3


async def test_gone_is_final_at_once(world: World, receiver: HttpReceiver) -> None:
    receiver.will_answer(410)
    await world.robot(hook(receiver.url()))
    await world.hear(DELIVERY_FAILED, DELIVERY_SETTLED)
    await world.start()
    await world.request()
    (failed,) = await world.heard(DELIVERY_FAILED)
    assert (failed.data.result.error, failed.data.result.attempts) == ("answered 410", 1)
    await world.heard(DELIVERY_SETTLED)
    assert len(receiver.got) == 1


async def test_a_receiver_says_when_it_wants_to_be_asked_again(world: World, receiver: HttpReceiver) -> None:
    receiver.will_answer(429, retry_after="1")
    await world.robot(hook(receiver.url()))
    await world.hear(DELIVERY_SETTLED)
    await world.start(retry_schedule=(0.01, 2))
    await world.request()
    (settled,) = await world.heard(DELIVERY_SETTLED)
    one, two = receiver.got
    assert settled.data.success
    assert int(two.headers["webhook-timestamp"]) > int(one.headers["webhook-timestamp"])


@pytest.mark.once
async def test_replicas_share_the_retries(world: World, receiver: HttpReceiver) -> None:
    receiver.will_answer(*[500] * 30)
    members = [f"robot-{number}" for number in range(30)]
    for member in members:  # each has a target of its own: one that fails again and again would be left alone
        await world.robot(hook(receiver.url(f"/{member}")), member_id=member)
    await world.hear(DELIVERY_SETTLED)
    many = (0.05,) * 10  # whoever comes first gets the 500s, and that may be a retry
    await asyncio.gather(*(world.start(retry_schedule=many) for _ in range(3)))
    context = {"team_id": "acme", "execution_id": "e1", "trigger_type": "event"}
    await asyncio.gather(
        *(world.request(member, member_id=member, context=context | {"member_id": member}) for member in members)
    )
    settled = await world.heard(DELIVERY_SETTLED, 30)
    assert all(each.data.success for each in settled)
    sent = sum(each.data.results[0].attempts for each in settled)
    assert len(receiver.got) == sent


async def test_another_replica_takes_over_what_the_first_left(world: World, receiver: HttpReceiver) -> None:
    receiver.will_answer(500)
    await world.robot(hook(receiver.url()))
    await world.hear(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    first = await world.start(retry_schedule=(1,))
    await world.request()
    await world.heard(DELIVERY_ACCEPTED)
    await first.stop(2)
    await world.start()
    assert (await world.heard(DELIVERY_SETTLED))[0].data.success
    assert len(receiver.got) == 2


async def test_deleting_the_robot_stops_the_retries(world: World, receiver: HttpReceiver) -> None:
    receiver.will_answer(500)
    await world.robot(hook(receiver.url()))
    await world.hear(DELIVERY_ACCEPTED, DELIVERY_FAILED, DELIVERY_SETTLED)
    await world.start(retry_schedule=(3600,))
    await world.request()
    await world.heard(DELIVERY_ACCEPTED)
    await world.delete_robot()
    (failed,) = await world.heard(DELIVERY_FAILED)
    assert (failed.data.result.error, failed.data.result.final) == ("the robot ann was deleted", True)
    assert (await world.heard(DELIVERY_SETTLED))[0].data.success is False
    assert len(receiver.got) == 1


async def test_a_slow_receiver_does_not_hold_up_the_retries_of_others(world: World, receiver: HttpReceiver) -> None:
    async with http_receiver() as slow:
        slow.will_answer(500, 500)
        await world.robot(hook(slow.url()))
        await world.hear(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
        await world.start()
        await world.request("slow")
        await world.heard(DELIVERY_ACCEPTED)
        slow.hold = asyncio.Event()
        await slow.requests(2)  # its retry hangs now
        receiver.will_answer(500)
        await world.robot(hook(receiver.url()))
        await world.request("quick")
        (settled,) = await world.heard(DELIVERY_SETTLED)
        assert (settled.data.request_id, settled.data.success) == ("quick", True)
        slow.hold.set()
