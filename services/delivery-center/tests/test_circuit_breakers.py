"""Targets that fail or are slow, over adapters in memory and a clock to set: their circuits open."""

import asyncio
from typing import Any

from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.ports import Sent, TransientReply
from rota_contracts.messages.delivery import DeliveryType

URL = "https://a.example/1"
HOOK = {"type": "webhook", "opts": {"url": URL}}
TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": URL}, {"url": "https://b.example/2"}]}}}
DOWN = TransientReply("answered 500", details={"status": 500})


async def down(harness: Any) -> None:
    """Five requests in vain: the circuit is open."""
    harness.webhook.script = [DOWN] * 5
    await harness.send(*range(101, 106))
    harness.webhook.sent.clear()


# The circuit


async def test_an_open_circuit_postpones_a_new_delivery_without_an_attempt(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    await down(harness)
    (result,) = await harness.send(1)
    assert harness.webhook.sent == []
    assert (result.success, result.final, result.attempts) == (False, False, 0)
    assert result.error.startswith(f"{URL} isn't answering; tried again at 2026-03-02T12:00:")
    (target,) = (await harness.stored()).targets
    wait = (target.next_attempt_at - harness.now).total_seconds()
    assert 24 <= wait <= 36 * 1.2
    assert len(harness.published("delivery.completed")) == 6


async def test_after_a_successful_probe_everything_is_sent(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    await down(harness)
    await harness.send(*range(1, 20))
    harness.pass_time(seconds=90)
    await harness.retry_what_is_due()
    assert len(harness.webhook.sent) == 24  # five that were attempted once, and these
    assert all(settled.success for settled in harness.published("delivery.settled"))
    first = [each for each in harness.published("delivery.attempted") if each.request_id == "r1"]
    assert [each.attempt for each in first] == [1]


async def test_only_one_probe_is_sent(new_harness: Any, robot: Any) -> None:
    seen, hold = asyncio.Event(), asyncio.Event()

    class Slow:
        count = 0

        async def send(self, target: object, outgoing: OutgoingMessage) -> Sent:
            Slow.count += 1
            seen.set()
            await hold.wait()
            return Sent()

    harness = new_harness(robot(HOOK))
    await down(harness)
    harness.pass_time(seconds=60)
    harness.channels[DeliveryType.WEBHOOK] = Slow()
    probe = asyncio.create_task(harness.send(1))
    await seen.wait()
    results = await harness.send(2, 3)
    assert Slow.count == 1
    assert all("isn't answering" in result.error for result in results)
    hold.set()
    await probe
    assert harness.published("delivery.accepted")[-1].result.success


async def test_a_postponed_retry_counts_no_attempt(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN]
    await harness.send(1)
    await down(harness)
    harness.pass_time(seconds=7)
    facts = len(harness.publisher.facts)
    assert await harness.retry_what_is_due() > 0
    (target,) = (await harness.stored()).targets
    assert len(target.attempts) == 1
    assert harness.webhook.sent == []
    assert len(harness.publisher.facts) == facts


async def test_an_open_circuit_does_not_block_other_targets(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    await down(harness)
    harness.robots.stored[("acme", "ann")] = robot(TWO_HOOKS)
    await harness.send(1)
    resting, fine = harness.published("delivery.accepted")[-1].result.results
    assert (resting.attempts, fine.success) == (0, True)


async def test_mail_and_notifications_have_no_circuit_breaker(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot({"preferences": {"email": {"targets": [{"to": ["ann@acme.example"]}]}}}))
    harness.channels[DeliveryType.EMAIL].script = [DOWN] * 20
    await harness.send(*range(20))
    assert len(harness.channels[DeliveryType.EMAIL].sent) == 20
    assert await harness.targets.all() == []


async def test_a_dry_run_ignores_signals(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(HOOK))
    await down(harness)
    await harness.deliver(request_for(executor_mode="dryrun"))
    assert harness.published("delivery.accepted")[-1].result.success


# Concurrency limits


async def test_a_target_that_hangs_does_not_block_the_others(new_harness: Any, robot: Any, request_for: Any) -> None:
    hold, hanging = asyncio.Event(), 0

    class Hanging:
        async def send(self, target: Any, outgoing: OutgoingMessage) -> Sent:
            nonlocal hanging
            if target.url == URL:
                hanging += 1
                await hold.wait()
            return Sent()

    harness = new_harness(
        robot(HOOK), robot({"type": "webhook", "opts": {"url": "https://b.example/2"}}, member_id="bob"), timeout=60
    )
    harness.channels[DeliveryType.WEBHOOK] = Hanging()
    context = request_for().context
    slots = asyncio.Semaphore(64)  # as many as the service handles at once

    async def one(number: int, member: str) -> None:
        async with slots:
            theirs = context.model_copy(update={"member_id": member})
            await harness.deliver(request_for(request_id=f"{member}{number}", member_id=member, context=theirs))

    stuck = [asyncio.create_task(one(number, "ann")) for number in range(200)]
    await asyncio.wait_for(asyncio.gather(*(one(number, "bob") for number in range(50))), 10)
    accepted = {each.request_id: each.result.results[0] for each in harness.published("delivery.accepted")}
    assert all(accepted[f"bob{number}"].success for number in range(50))
    assert hanging == 8
    put_off = [result for name, result in accepted.items() if name.startswith("ann")]
    assert len(put_off) >= 200 - 64
    assert all(result.error == f"{URL} is busy; tried again soon" for result in put_off)
    hold.set()
    await asyncio.gather(*stuck)
