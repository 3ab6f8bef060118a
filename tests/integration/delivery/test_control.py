"""Stopping and pausing what is being delivered, and asking how it went; with an executor that answers on the bus."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from rota_common.bus.connection import barrier
from rota_common.errors import Transient
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import SetClock
from rota_contracts.catalog import (
    CONTROL_GIVEN,
    DELIVERY_ACCEPTED,
    DELIVERY_ATTEMPTED,
    DELIVERY_COMPLETED,
    DELIVERY_FAILED,
    DELIVERY_SETTLED,
    READ_DELIVERY,
)
from rota_contracts.messages.delivery import DeliveryPermission, DeliveryReply, MayDeliver, Permission, ReadDelivery
from tests.integration.delivery.conftest import World, go
from tests.integration.delivery.receivers import HttpReceiver

TWENTY = [f"/{number}" for number in range(20)]


def hooks(*urls: str) -> dict[str, Any]:
    return {"preferences": {"webhook": {"targets": [{"url": url} for url in urls]}}}


async def stop(question: MayDeliver) -> DeliveryPermission:
    return DeliveryPermission(leave=Permission.DENY, reason="stopped by ann")


async def hold(question: MayDeliver) -> DeliveryPermission:
    return DeliveryPermission(leave=Permission.HOLD, reason="paused by ann")


async def heard_by(world: World, *services: Service) -> None:
    """Once what the executor said to all has reached these."""
    for service in (world.executor, *services):
        await barrier(service.bus.client)


async def reading(world: World, team: str = "acme", execution_id: str = "e1") -> DeliveryReply:
    return await world.gateway.ask(READ_DELIVERY, ReadDelivery(team_id=team, execution_id=execution_id))


async def next_attempt(world: World, clock: SetClock) -> None:
    """Let it be time for it."""
    (target,) = (await reading(world)).targets
    clock.at = max(clock.at, target.next_attempt_at or clock.at)


async def test_the_result_of_a_stopped_execution_goes_nowhere(world: World, receiver: HttpReceiver) -> None:  # F11
    world.leave = stop
    await world.robot(hooks(receiver.url()))
    await world.hear(DELIVERY_ACCEPTED, DELIVERY_FAILED, DELIVERY_SETTLED)
    await world.start()
    await world.request()
    (accepted,) = await world.heard(DELIVERY_ACCEPTED)
    (failed,), (settled,) = await world.heard(DELIVERY_FAILED), await world.heard(DELIVERY_SETTLED)
    assert (accepted.data.result.success, accepted.data.result.error) == (False, "stopped by ann")
    assert failed.data.result.error == settled.data.results[0].error == "stopped by ann"
    assert (world.asked[0], receiver.got) == ("e1", [])


@pytest.mark.once
async def test_the_result_of_a_paused_execution_waits_until_it_is_resumed(  # F11
    world: World, receiver: HttpReceiver
) -> None:
    asked = asyncio.Event()

    async def hold_once(question: MayDeliver) -> DeliveryPermission:
        asked.set()
        world.leave = go
        return await hold(question)

    world.leave = hold_once
    await world.robot(hooks(receiver.url()))
    await world.hear(DELIVERY_ACCEPTED)
    await world.start()
    await world.request()
    await asked.wait()
    assert (await reading(world)).request_id is None
    (accepted,) = await world.heard(DELIVERY_ACCEPTED)
    assert accepted.data.result.success
    assert (len(receiver.got), len(world.asked)) == (1, 2)


async def test_while_no_executor_answers_the_request_waits(world: World, receiver: HttpReceiver) -> None:
    async def away(question: MayDeliver) -> DeliveryPermission:
        world.leave = go
        raise Transient("its store is away")

    world.leave = away
    await world.robot(hooks(receiver.url()))
    await world.hear(DELIVERY_ACCEPTED)
    await world.start()
    await world.request()
    assert (await world.heard(DELIVERY_ACCEPTED))[0].data.result.success
    assert len(receiver.got) == 1


async def test_outside_of_standard_mode_nobody_is_asked(world: World) -> None:
    await world.robot(hooks("https://hooks.example"))
    await world.hear(DELIVERY_ACCEPTED)
    await world.start()
    await world.request(executor_mode="dryrun")
    assert (await world.heard(DELIVERY_ACCEPTED))[0].data.result.success
    assert world.asked == []


async def stopped_in_the_middle(world: World, receiver: HttpReceiver, *replicas: Service) -> None:
    """A stop that comes while 8 of 20 webhooks are on their way keeps the other 12 from being sent."""
    receiver.hold = asyncio.Event()
    await world.robot(hooks(*(receiver.url(path) for path in TWENTY)))
    await world.hear(DELIVERY_ACCEPTED, DELIVERY_FAILED)
    await world.request()
    await receiver.requests(8)
    await world.control("stop", "e0", "e1", reason="wrong customer")
    await heard_by(world, *replicas)
    receiver.hold.set()
    (accepted,) = await world.heard(DELIVERY_ACCEPTED)
    results = accepted.data.result.results
    assert [result.success for result in results] == [True] * 8 + [False] * 12
    shown = {(result.error, result.final, result.attempts) for result in results[8:]}
    assert shown == {("wrong customer", True, 0)}
    assert len(await world.heard(DELIVERY_FAILED, 12)) == 12
    assert len(receiver.got) == 8


@pytest.mark.once
async def test_a_stop_said_to_all_is_heard_by_whichever_replica_has_the_delivery(
    world: World, receiver: HttpReceiver
) -> None:
    replicas = await asyncio.gather(world.start(), world.start())
    await stopped_in_the_middle(world, receiver, *replicas)


@pytest.mark.once
async def test_a_stop_is_heard_after_the_bus_was_away(
    world: World, receiver: HttpReceiver, nats: EmbeddedServer
) -> None:
    service = await world.start()
    async with asyncio.timeout(PATIENCE_S):
        while not any(CONTROL_GIVEN.type in each.subject for each in service.bus.client._subs.values()):
            await asyncio.sleep(0.05)  # its loop has only just begun
    await barrier(service.bus.client)  # and by now the server knows
    await nats.kill()
    await nats.start()
    async with asyncio.timeout(PATIENCE_S):
        while not all(each.bus.connected for each in (service, world.executor, world.gateway)):
            await asyncio.sleep(0.05)  # nats-py tells nobody that it is back
    await stopped_in_the_middle(world, receiver, service)


@pytest.mark.once
async def test_a_pause_in_the_middle_puts_off_the_rest_until_it_is_resumed(
    world: World, receiver: HttpReceiver
) -> None:
    clock = SetClock()
    service = await world.start(clock=clock)
    receiver.hold = asyncio.Event()
    await world.robot(hooks(*(receiver.url(path) for path in TWENTY)))
    await world.hear(DELIVERY_ACCEPTED, DELIVERY_ATTEMPTED, DELIVERY_SETTLED)
    await world.request()
    await receiver.requests(8)
    world.leave = hold
    await world.control("pause")
    await heard_by(world, service)
    receiver.hold.set()
    (accepted,) = await world.heard(DELIVERY_ACCEPTED)
    waiting = accepted.data.result.results[8:]
    assert {(each.error, each.final, each.attempts) for each in waiting} == {("the execution is paused", False, 0)}
    assert len(receiver.got) == 8
    world.leave = go
    await world.control("resume")
    clock.forward(6)
    (settled,) = await world.heard(DELIVERY_SETTLED)
    assert (settled.data.success, len(receiver.got)) == (True, 20)
    assert {each.data.attempt for each in await world.heard(DELIVERY_ATTEMPTED, 20)} == {1}


async def test_the_retries_of_a_stopped_execution_end(world: World, receiver: HttpReceiver) -> None:
    receiver.will_answer(500)
    await world.robot(hooks(receiver.url()))
    await world.hear(DELIVERY_ACCEPTED, DELIVERY_FAILED, DELIVERY_SETTLED)
    clock = SetClock()
    await world.start(clock=clock)
    await world.request()
    await world.heard(DELIVERY_ACCEPTED)
    world.leave = stop
    clock.forward(1)
    (failed,) = await world.heard(DELIVERY_FAILED)
    assert (failed.data.result.error, failed.data.result.attempts) == ("stopped by ann", 1)
    assert (await world.heard(DELIVERY_SETTLED))[0].data.success is False
    assert len(receiver.got) == 1


async def test_a_retry_waits_for_an_execution_that_is_paused(world: World, receiver: HttpReceiver) -> None:
    receiver.will_answer(500)
    await world.robot(hooks(receiver.url()))
    await world.hear(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    clock = SetClock()
    await world.start(clock=clock)
    await world.request()
    await world.heard(DELIVERY_ACCEPTED)
    world.leave = hold
    async with asyncio.timeout(PATIENCE_S):
        while len(world.asked) < 6:  # more often than there are attempts
            await next_attempt(world, clock)
    assert len(receiver.got) == 1
    world.leave = go
    async with asyncio.timeout(PATIENCE_S):
        while not (await reading(world)).settled:
            await next_attempt(world, clock)
    (settled,) = await world.heard(DELIVERY_SETTLED)
    assert (settled.data.success, settled.data.results[0].attempts, len(receiver.got)) == (True, 2, 2)


async def test_how_a_delivery_fares_can_be_asked(world: World, receiver: HttpReceiver) -> None:
    receiver.will_answer(500, 200)
    await world.robot(hooks(receiver.url("/a")))
    await world.hear(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    clock = SetClock()
    await world.start(clock=clock)
    await world.request()
    await world.heard(DELIVERY_ACCEPTED)
    before = await reading(world)
    (target,) = before.targets
    assert (before.request_id, before.settled, before.accepted_at) == ("r1", False, clock())
    assert [(each.at, each.ok, each.error) for each in target.attempts] == [(clock(), False, "answered 500")]
    assert target.next_attempt_at is not None
    at = clock.forward(1)
    await world.heard(DELIVERY_SETTLED)
    (target,) = (await reading(world)).targets
    assert [(each.at, each.ok) for each in target.attempts] == [(at - timedelta(seconds=1), False), (at, True)]
    assert (target.result.target, target.result.success, target.next_attempt_at) == (receiver.url("/a"), True, None)
    assert await reading(world, team="other") == await reading(world, execution_id="e2") == DeliveryReply()


async def test_the_score_travels_to_the_webhook_and_to_everybody(world: World, receiver: HttpReceiver) -> None:
    await world.robot(hooks(receiver.url()))
    await world.hear(DELIVERY_COMPLETED)
    await world.start()
    owner = {"team_id": "acme", "member_id": "ann"}
    await world.request(context=owner | {"execution_id": "e1", "trigger_type": "event", "score": 0.85})
    (completed,) = await world.heard(DELIVERY_COMPLETED)
    assert completed.data.context.score == 0.85
    assert json.loads(receiver.got[0].body)["data"]["context"]["score"] == 0.85
