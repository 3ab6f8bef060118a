"""Retrying what is pending: on request, and once a target is back."""

from datetime import timedelta
from typing import Any

from delivery_center.ports import TransientReply
from delivery_center.targets.bring_forward import LEAD, BringForward
from rota_contracts.messages.delivery_log import RetryDeliveries, RetryDeliveriesReply

A, B = "https://a.example/1", "https://b.example/2"
HOOK = {"type": "webhook", "opts": {"url": A}}
TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": A}, {"url": B}]}}}
DOWN = TransientReply("answered 500", details={"status": 500})


def over(harness: Any) -> BringForward:
    return BringForward(
        deliveries=harness.deliveries, targets=harness.targets, breakers=harness.breakers, clock=harness.clock
    )


async def retried(harness: Any, **fields: Any) -> RetryDeliveriesReply:
    return await over(harness)(RetryDeliveries.model_validate({"team_id": "acme"} | fields))


async def test_a_pending_attempt_is_made_now_under_the_same_id(new_harness: Any, robot: Any) -> None:  # F5
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN] * 4
    await harness.send(1, 2)
    harness.pass_time(seconds=10)
    await harness.retry_what_is_due()  # the next attempts are half a minute away
    answer = await retried(harness, request_id="r1")
    assert [(each.request_id, each.targets) for each in answer.retried] == [("r1", 1)]
    harness.pass_time(seconds=LEAD.total_seconds())
    assert await harness.retry_what_is_due() == 1
    assert (await harness.stored()).settled
    ids = [sent.delivery_id for sent in harness.webhook.sent if sent.request_id == "r1"]
    assert len(ids) == 3
    assert len(set(ids)) == 1
    assert (await retried(harness, request_id="r1")).retried == []
    assert (await retried(harness, team_id="other", request_id="r2")).retried == []


async def test_what_is_pending_for_a_target_is_spread_and_open_circuits_are_closed(
    new_harness: Any, robot: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.webhook.script = [DOWN] * 10
    await harness.send(*range(1, 7))
    one, two = (await harness.stored()).targets
    page = await retried(harness, target_id=one.target_id, limit=4)
    rest = await retried(harness, target_id=one.target_id, limit=4, after=page.next)
    assert sorted(each.request_id for each in [*page.retried, *rest.retried]) == [f"r{n}" for n in range(1, 7)]
    waiting = [delivery.targets for delivery in harness.deliveries.stored.values()]
    soon = [first.next_attempt_at - harness.now for first, _ in waiting]
    assert all(LEAD <= each < LEAD + timedelta(seconds=1) for each in soon)
    assert len(set(soon)) > 3
    assert all(second.next_attempt_at > harness.now + LEAD + timedelta(seconds=1) for _, second in waiting)
    assert (await retried(harness, target_id=two.target_id)).retried != []
    harness.pass_time(seconds=LEAD.total_seconds() + 1)
    await harness.retry_what_is_due()
    assert all(delivery.targets[0].state == "delivered" for delivery in harness.deliveries.stored.values())


async def test_other_replicas_close_their_circuits_too(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN] * 5
    await harness.send(*range(1, 6))
    (target,) = (await harness.stored()).targets
    other = harness.breakers
    harness.breakers = harness.replica()  # the one that is asked
    await other.refresh()
    assert not hasattr(other.allow(target), "probe")
    await retried(harness, target_id=target.target_id)
    await other.refresh()
    assert hasattr(other.allow(target), "probe")


async def test_a_target_that_answers_again_gets_what_is_pending_for_it(new_harness: Any, robot: Any) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN] * 4
    await harness.send(1, 2)
    harness.pass_time(seconds=10)
    await harness.retry_what_is_due()
    await harness.send(3)  # the receiver is back
    assert harness.published("delivery.accepted")[-1].result.success
    await over(harness).recovered()
    harness.pass_time(seconds=LEAD.total_seconds() + 1)
    assert await harness.retry_what_is_due() == 2
    assert len(harness.published("delivery.settled")) == 3
    assert harness.breakers.recovered == set()


async def test_a_target_that_is_enabled_gets_what_is_pending_and_a_disabled_one_nothing(
    new_harness: Any, robot: Any
) -> None:
    harness = new_harness(robot(HOOK))
    harness.webhook.script = [DOWN, DOWN]
    await harness.send(1)
    harness.pass_time(seconds=10)
    await harness.retry_what_is_due()
    (target,) = (await harness.stored()).targets
    (known,) = await harness.targets.all()
    await harness.breakers.disable(known, "by hand")
    assert (await retried(harness, target_id=target.target_id)).retried == []
    await harness.breakers.enable("acme", target.target_id)
    await over(harness).recovered()
    harness.pass_time(seconds=LEAD.total_seconds())
    await harness.retry_what_is_due()
    assert (await harness.stored()).settled
