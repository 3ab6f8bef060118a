"""Stopping and pausing what is being delivered, and asking how it went; with an executor that answers on the bus."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from rota_common.bus.barrier import barrier
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
from tests.integration.delivery.harness import ServersHarness as Harness
from tests.integration.delivery.harness import allow
from tests.integration.delivery.receivers import HttpReceiver

TWENTY = [f"/{number}" for number in range(20)]


def hooks(*urls: str) -> dict[str, Any]:
    return {"preferences": {"webhook": {"targets": [{"url": url} for url in urls]}}}


async def stop(question: MayDeliver) -> DeliveryPermission:
    return DeliveryPermission(leave=Permission.DENY, reason="stopped by ann")


async def hold(question: MayDeliver) -> DeliveryPermission:
    return DeliveryPermission(leave=Permission.HOLD, reason="paused by ann")


async def received_by(harness: Harness, *services: Service) -> None:
    """Once the executor's broadcast has reached these."""
    for service in (harness.executor, *services):
        await barrier(service.bus.client)


async def reading(harness: Harness, team: str = "", execution_id: str = "e1") -> DeliveryReply:
    return await harness.ask(READ_DELIVERY, ReadDelivery(team_id=team or harness.team, execution_id=execution_id))


async def next_attempt(harness: Harness, clock: SetClock) -> None:
    """Let it be time for it."""
    (target,) = (await reading(harness)).targets
    clock.at = max(clock.at, target.next_attempt_at or clock.at)


async def test_the_result_of_a_stopped_execution_is_not_sent(harness: Harness, receiver: HttpReceiver) -> None:  # F11
    harness.permission = stop
    await harness.robot(hooks(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_FAILED, DELIVERY_SETTLED)
    await harness.start()
    await harness.request()
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    (failed,), (settled,) = await harness.events(DELIVERY_FAILED), await harness.events(DELIVERY_SETTLED)
    assert (accepted.data.result.success, accepted.data.result.error) == (False, "stopped by ann")
    assert failed.data.result.error == settled.data.results[0].error == "stopped by ann"
    assert (harness.asked[0], receiver.got) == ("e1", [])


@pytest.mark.once
async def test_the_result_of_a_paused_execution_waits_until_it_is_resumed(  # F11
    harness: Harness, receiver: HttpReceiver
) -> None:
    asked = asyncio.Event()

    async def hold_once(question: MayDeliver) -> DeliveryPermission:
        asked.set()
        harness.permission = allow
        return await hold(question)

    harness.permission = hold_once
    await harness.robot(hooks(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start()
    await harness.request()
    await asked.wait()
    assert (await reading(harness)).request_id is None
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    assert accepted.data.result.success
    assert (len(receiver.got), len(harness.asked)) == (1, 2)


async def test_a_request_waits_while_the_executor_is_unavailable(harness: Harness, receiver: HttpReceiver) -> None:
    async def away(question: MayDeliver) -> DeliveryPermission:
        harness.permission = allow
        raise Transient("its store is away")

    harness.permission = away
    await harness.robot(hooks(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start()
    await harness.request()
    assert (await harness.events(DELIVERY_ACCEPTED))[0].data.result.success
    assert len(receiver.got) == 1


async def test_outside_of_standard_mode_no_permission_is_requested(harness: Harness) -> None:
    await harness.robot(hooks("https://hooks.example"))
    await harness.listen(DELIVERY_ACCEPTED)
    await harness.start()
    await harness.request(executor_mode="dryrun")
    assert (await harness.events(DELIVERY_ACCEPTED))[0].data.result.success
    assert harness.asked == []


async def stopped_during_the_attempts(harness: Harness, receiver: HttpReceiver, *replicas: Service) -> None:
    """A stop that comes while 8 of 20 webhooks are on their way keeps the other 12 from being sent."""
    receiver.hold = asyncio.Event()
    await harness.robot(hooks(*(receiver.url(path) for path in TWENTY)))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_FAILED)
    await harness.request()
    await receiver.requests(8)
    await harness.control("stop", "e0", "e1", reason="wrong customer")
    await received_by(harness, *replicas)
    receiver.hold.set()
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    results = accepted.data.result.results
    assert [result.success for result in results] == [True] * 8 + [False] * 12
    shown = {(result.error, result.final, result.attempts) for result in results[8:]}
    assert shown == {("wrong customer", True, 0)}
    assert len(await harness.events(DELIVERY_FAILED, 12)) == 12
    assert len(receiver.got) == 8


@pytest.mark.once
async def test_a_broadcast_stop_reaches_the_replica_that_has_the_delivery(
    harness: Harness, receiver: HttpReceiver
) -> None:
    replicas = await asyncio.gather(harness.start(), harness.start())
    await stopped_during_the_attempts(harness, receiver, *replicas)


@pytest.mark.once
async def test_a_stop_is_received_after_an_outage_of_nats(
    harness: Harness, receiver: HttpReceiver, nats: EmbeddedServer
) -> None:
    service = await harness.start()
    async with asyncio.timeout(PATIENCE_S):
        while not any(CONTROL_GIVEN.type in each.subject for each in service.bus.client._subs.values()):
            await asyncio.sleep(0.05)  # its loop has only just begun
    await barrier(service.bus.client)  # and by now the server knows
    await nats.kill()
    await nats.start()
    async with asyncio.timeout(PATIENCE_S):
        while not all(each.bus.connected for each in (service, harness.executor, harness.gateway)):
            await asyncio.sleep(0.05)  # nats-py doesn't report that it is connected again
    await stopped_during_the_attempts(harness, receiver, service)


@pytest.mark.once
async def test_a_pause_during_the_attempts_postpones_the_rest_until_the_resume(
    harness: Harness, receiver: HttpReceiver
) -> None:
    clock = SetClock()
    service = await harness.start(clock=clock)
    receiver.hold = asyncio.Event()
    await harness.robot(hooks(*(receiver.url(path) for path in TWENTY)))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_ATTEMPTED, DELIVERY_SETTLED)
    await harness.request()
    await receiver.requests(8)
    harness.permission = hold
    await harness.control("pause")
    await received_by(harness, service)
    receiver.hold.set()
    (accepted,) = await harness.events(DELIVERY_ACCEPTED)
    waiting = accepted.data.result.results[8:]
    assert {(each.error, each.final, each.attempts) for each in waiting} == {("the execution is paused", False, 0)}
    assert len(receiver.got) == 8
    harness.permission = allow
    await harness.control("resume")
    clock.forward(6)
    (settled,) = await harness.events(DELIVERY_SETTLED)
    assert (settled.data.success, len(receiver.got)) == (True, 20)
    assert {each.data.attempt for each in await harness.events(DELIVERY_ATTEMPTED, 20)} == {1}


async def test_the_retries_of_a_stopped_execution_end(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.will_answer(500)
    await harness.robot(hooks(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_FAILED, DELIVERY_SETTLED)
    clock = SetClock()
    await harness.start(clock=clock)
    await harness.request()
    await harness.events(DELIVERY_ACCEPTED)
    harness.permission = stop
    clock.forward(1)
    (failed,) = await harness.events(DELIVERY_FAILED)
    assert (failed.data.result.error, failed.data.result.attempts) == ("stopped by ann", 1)
    assert (await harness.events(DELIVERY_SETTLED))[0].data.success is False
    assert len(receiver.got) == 1


async def test_a_retry_waits_for_an_execution_that_is_paused(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.will_answer(500)
    await harness.robot(hooks(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    clock = SetClock()
    await harness.start(clock=clock)
    await harness.request()
    await harness.events(DELIVERY_ACCEPTED)
    harness.permission = hold
    async with asyncio.timeout(PATIENCE_S):
        while len(harness.asked) < 6:  # more often than there are attempts
            await next_attempt(harness, clock)
    assert len(receiver.got) == 1
    harness.permission = allow
    async with asyncio.timeout(PATIENCE_S):
        while not (await reading(harness)).settled:
            await next_attempt(harness, clock)
    (settled,) = await harness.events(DELIVERY_SETTLED)
    assert (settled.data.success, settled.data.results[0].attempts, len(receiver.got)) == (True, 2, 2)


async def test_a_delivery_is_read_with_its_attempts(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.will_answer(500, 200)
    await harness.robot(hooks(receiver.url("/a")))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_SETTLED)
    clock = SetClock()
    await harness.start(clock=clock)
    await harness.request()
    await harness.events(DELIVERY_ACCEPTED)
    before = await reading(harness)
    (target,) = before.targets
    assert (before.request_id, before.settled, before.accepted_at) == ("r1", False, clock())
    assert [(each.at, each.ok, each.error) for each in target.attempts] == [(clock(), False, "answered 500")]
    assert target.next_attempt_at is not None
    at = clock.forward(1)
    await harness.events(DELIVERY_SETTLED)
    (target,) = (await reading(harness)).targets
    assert [(each.at, each.ok) for each in target.attempts] == [(at - timedelta(seconds=1), False), (at, True)]
    assert (target.result.target, target.result.success, target.next_attempt_at) == (receiver.url("/a"), True, None)
    assert await reading(harness, team="other") == await reading(harness, execution_id="e2") == DeliveryReply()


async def test_the_score_is_in_the_webhook_and_the_facts(harness: Harness, receiver: HttpReceiver) -> None:
    await harness.robot(hooks(receiver.url()))
    await harness.listen(DELIVERY_COMPLETED)
    await harness.start()
    owner = {"team_id": harness.team, "member_id": "ann"}
    await harness.request(context=owner | {"execution_id": "e1", "trigger_type": "event", "score": 0.85})
    (completed,) = await harness.events(DELIVERY_COMPLETED)
    assert completed.data.context.score == 0.85
    assert json.loads(receiver.got[0].body)["data"]["context"]["score"] == 0.85
