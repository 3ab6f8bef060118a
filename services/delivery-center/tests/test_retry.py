"""Later attempts, over fakes and a clock that the test sets."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from delivery_center.adapters.in_memory_deliveries import InMemoryDeliveries
from delivery_center.attempts.sweep import Sweep
from delivery_center.domain.delivery import Delivery
from delivery_center.ports import Rejected, Sent, TransientReply
from rota_common.errors import Permanent, Transient

HOOK = {"type": "webhook", "opts": {"url": "https://a.example/1"}}
TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}]}}}
DOWN = TransientReply("answered 500")


async def test_a_failed_target_is_retried_under_its_id_until_it_succeeds(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN, DOWN]
    await harness.deliver(request_for())
    assert await harness.retry_what_is_due() == 0
    harness.pass_time(seconds=6)
    assert await harness.retry_what_is_due() == 1
    harness.pass_time(seconds=36)
    assert await harness.retry_what_is_due() == 1
    first, second, third = harness.webhook.sent
    assert first.delivery_id == second.delivery_id == third.delivery_id
    assert first.created_at == third.created_at < third.at
    assert [attempted.attempt for attempted in harness.published("delivery.attempted")] == [1, 2, 3]
    (settled,) = harness.published("delivery.settled")
    assert (settled.success, settled.results[0].attempts) == (True, 3)
    assert (await harness.stored()).due_at is None
    assert len(harness.published("delivery.completed")) == 1


async def test_after_the_last_attempt_the_target_is_given_up_and_the_failure_published(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.webhook.script = [DOWN, Sent(), DOWN, DOWN]
    await harness.deliver(request_for())
    for _ in range(2):
        harness.pass_time(hours=1)
        await harness.retry_what_is_due()
    (failed,) = harness.published("delivery.failed")
    assert (failed.result.error, failed.result.final) == ("answered 500 (given up after 3 attempts)", True)
    (settled,) = harness.published("delivery.settled")
    assert [result.success for result in settled.results] == [False, True]
    assert settled.success is False
    harness.pass_time(days=9)
    assert await harness.retry_what_is_due() == 0
    assert len((await harness.stored()).targets[0].attempts) == 3


async def test_a_refusal_at_a_later_attempt_is_final(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN, Rejected("answered 410")]
    await harness.deliver(request_for())
    harness.pass_time(seconds=6)
    await harness.retry_what_is_due()
    assert harness.published("delivery.failed")[0].result.error == "answered 410"
    assert (await harness.stored()).settled


async def test_a_claim_is_exclusive_and_expires(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN]
    await harness.deliver(request_for())
    harness.pass_time(seconds=6)
    dead = await harness.retry.claim()
    assert await harness.retry.claim() is None
    harness.pass_time(seconds=41)
    alive = await harness.retry.claim()
    assert alive is not None
    await harness.retry(alive)
    facts = len(harness.publisher.facts)
    await harness.retry(dead)  # it may send again under the same id, but neither writes nor publishes
    assert len(harness.publisher.facts) == facts
    assert (await harness.stored()).targets[0].attempts[-1].ok


async def test_the_next_owner_publishes_what_was_saved(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN]
    await harness.deliver(request_for())
    harness.pass_time(seconds=6)
    harness.publisher.failures = [ConnectionError("NATS is away")]
    with pytest.raises(ConnectionError):
        await harness.retry_what_is_due()
    assert harness.published("delivery.settled") == []
    harness.pass_time(seconds=41)
    assert await harness.retry_what_is_due() == 1
    assert len(harness.webhook.sent) == 2
    assert [attempted.attempt for attempted in harness.published("delivery.attempted")] == [1, 2]
    assert len(harness.published("delivery.settled")) == 1


async def test_a_crash_before_saving_sends_again_under_the_same_id(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN]
    await harness.deliver(request_for())
    harness.pass_time(seconds=6)
    assert await harness.retry.claim() is not None  # and its owner dies
    harness.pass_time(seconds=41)
    await harness.retry_what_is_due()
    assert [attempted.attempt for attempted in harness.published("delivery.attempted")] == [1, 2]


async def test_many_due_targets_are_attempted_in_portions(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(
        robot({"preferences": {"webhook": {"targets": [{"url": f"https://a.example/{n}"} for n in range(20)]}}})
    )
    harness.webhook.script = [DOWN] * 20
    await harness.deliver(request_for())
    harness.pass_time(seconds=6)
    assert await harness.retry_what_is_due() == 3
    assert len(harness.webhook.sent) == 40
    assert len(harness.published("delivery.settled")) == 1


async def test_a_request_redelivered_after_retries_publishes_the_first_outcomes(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN]
    await harness.deliver(request_for())
    first = list(harness.publisher.facts)
    harness.pass_time(seconds=6)
    await harness.retry_what_is_due()
    harness.publisher.facts.clear()
    await harness.deliver(request_for())
    assert harness.publisher.facts == first


@pytest.mark.parametrize("how", ["deleted", "missing"])
async def test_a_delivery_of_a_robot_deleted_since_is_not_retried(
    new_harness: Any, robot: Any, request_for: Any, how: str
) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN]
    await harness.deliver(request_for())
    harness.robots.stored = {("acme", "ann"): robot(HOOK, deleted=True)} if how == "deleted" else {}
    harness.pass_time(seconds=6)
    await harness.retry_what_is_due()
    assert len(harness.webhook.sent) == 1
    assert "robot ann" in harness.published("delivery.failed")[0].result.error
    assert harness.published("delivery.settled")[0].success is False


async def test_deleting_a_robot_gives_up_its_pending_targets(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWO_HOOKS), robot(HOOK, member_id="bob"))
    harness.webhook.script = [DOWN, Sent(), DOWN]
    await harness.deliver(request_for())
    context = request_for().context.model_copy(update={"member_id": "bob"})
    await harness.deliver(request_for(request_id="r2", member_id="bob", context=context.model_dump()))
    await harness.stop_retries("acme", "ann")
    (failed,) = harness.published("delivery.failed")
    assert (failed.result.error, failed.result.final, failed.result.attempts) == ("the robot ann was deleted", True, 1)
    (settled,) = harness.published("delivery.settled")
    assert [result.success for result in settled.results] == [False, True]
    assert [attempted.attempt for attempted in harness.published("delivery.attempted")] == [1, 1, 1]
    harness.pass_time(seconds=6)
    assert await harness.retry_what_is_due() == 1  # bob's
    before = len(harness.publisher.facts)
    await harness.stop_retries("acme", "ann")
    assert len(harness.publisher.facts) == before


async def test_a_running_attempt_finishes_before_its_delivery_is_given_up(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN]
    await harness.deliver(request_for())
    harness.pass_time(seconds=6)
    under_way = await harness.retry.claim()
    with pytest.raises(Transient, match="are being attempted just now"):
        await harness.stop_retries("acme", "ann")
    await harness.retry(under_way)
    await harness.stop_retries("acme", "ann")
    assert harness.published("delivery.failed") == []
    assert harness.published("delivery.settled")[0].success is True


async def test_unreadable_content_is_given_up_at_a_retry(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN]
    await harness.deliver(request_for())
    harness.texts.damaged = Permanent("isn't what was stored")
    harness.pass_time(seconds=6)
    await harness.retry_what_is_due()
    assert harness.published("delivery.failed")[0].result.error == "isn't what was stored"


async def test_the_sweep_survives_an_unavailable_store_and_a_failing_retry(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    class Shaky(InMemoryDeliveries):
        failures = 2

        async def claim_due(self, now: datetime, lease: timedelta) -> Delivery | None:
            if self.failures:
                self.failures -= 1
                raise ConnectionError("MongoDB is away")
            return await super().claim_due(now, lease)

    harness = new_harness(robot(HOOK), deliveries=Shaky())
    harness.webhook.script = [DOWN]
    await harness.deliver(request_for())
    harness.publisher.failures = [ConnectionError("NATS is away")]
    harness.pass_time(seconds=6)
    sweep = asyncio.create_task(Sweep(retry=harness.retry, interval=0.001)())
    async with asyncio.timeout(5):
        while harness.published("delivery.settled") == []:
            await asyncio.sleep(0.001)
            harness.pass_time(seconds=1)
    sweep.cancel()
    assert len(harness.webhook.sent) == 2
