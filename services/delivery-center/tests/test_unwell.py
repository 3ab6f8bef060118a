"""Places that fail or are slow, over fakes and a clock that the test sets: left alone for a while."""

import asyncio
from typing import Any

from delivery_center.ports import Parcel, Sent, TriedInVain
from rota_contracts.messages.delivery import DeliveryType

URL = "https://a.example/1"
HOOK = {"type": "webhook", "opts": {"url": URL}}
TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": URL}, {"url": "https://b.example/2"}]}}}
DOWN = TriedInVain("answered 500", details={"status": 500})


async def down(home: Any) -> None:
    """Five requests in vain: the circuit is open."""
    home.webhook.script = [DOWN] * 5
    await home.send(*range(101, 106))
    home.webhook.parcels.clear()


# The circuit


async def test_while_a_place_rests_a_new_delivery_is_accepted_at_once_and_not_attempted(house: Any, robot: Any) -> None:
    home = house(robot(HOOK))
    await down(home)
    (result,) = await home.send(1)
    assert home.webhook.parcels == []
    assert (result.success, result.final, result.attempts) == (False, False, 0)
    assert result.error.startswith(f"{URL} isn't answering; tried again at 2026-03-02T12:00:")
    (target,) = (await home.stored()).targets
    wait = (target.next_attempt_at - home.now).total_seconds()
    assert 24 <= wait <= 36 * 1.2
    assert len(home.told("delivery.completed")) == 6


async def test_after_the_rest_one_goes_to_see_and_then_all_are_sent(house: Any, robot: Any) -> None:
    home = house(robot(HOOK))
    await down(home)
    await home.send(*range(1, 20))
    home.pass_time(seconds=90)
    await home.retry_what_is_due()
    assert len(home.webhook.parcels) == 24  # five that were attempted once, and these
    assert all(settled.success for settled in home.told("delivery.settled"))
    first = [each for each in home.told("delivery.attempted") if each.request_id == "r1"]
    assert [each.attempt for each in first] == [1]


async def test_only_one_goes_to_see(house: Any, robot: Any) -> None:
    seen, hold = asyncio.Event(), asyncio.Event()

    class Slow:
        count = 0

        async def send(self, target: object, parcel: Parcel) -> Sent:
            Slow.count += 1
            seen.set()
            await hold.wait()
            return Sent()

    home = house(robot(HOOK))
    await down(home)
    home.pass_time(seconds=60)
    home.channels[DeliveryType.WEBHOOK] = Slow()
    probe = asyncio.create_task(home.send(1))
    await seen.wait()
    results = await home.send(2, 3)
    assert Slow.count == 1
    assert all("isn't answering" in result.error for result in results)
    hold.set()
    await probe
    assert home.told("delivery.accepted")[-1].result.success


async def test_a_retry_that_is_put_off_counts_no_attempt(house: Any, robot: Any) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN]
    await home.send(1)
    await down(home)
    home.pass_time(seconds=7)
    facts = len(home.bulletin.facts)
    assert await home.retry_what_is_due() > 0
    (target,) = (await home.stored()).targets
    assert len(target.attempts) == 1
    assert home.webhook.parcels == []
    assert len(home.bulletin.facts) == facts


async def test_one_place_that_rests_keeps_no_other_from_being_sent_to(house: Any, robot: Any) -> None:
    home = house(robot(HOOK))
    await down(home)
    home.robots.stored[("acme", "ann")] = robot(TWO_HOOKS)
    await home.send(1)
    resting, fine = home.told("delivery.accepted")[-1].result.results
    assert (resting.attempts, fine.success) == (0, True)


async def test_mail_and_notifications_are_sent_however_often_they_failed(house: Any, robot: Any) -> None:
    home = house(robot({"preferences": {"email": {"targets": [{"to": ["ann@acme.example"]}]}}}))
    home.channels[DeliveryType.EMAIL].script = [DOWN] * 20
    await home.send(*range(20))
    assert len(home.channels[DeliveryType.EMAIL].parcels) == 20
    assert await home.targets.all() == []


async def test_a_dry_run_takes_no_notice(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(HOOK))
    await down(home)
    await home.deliver(request_for(executor_mode="dryrun"))
    assert home.told("delivery.accepted")[-1].result.success


# Turns at a place


async def test_a_place_that_hangs_does_not_hold_up_the_others(house: Any, robot: Any, request_for: Any) -> None:
    hold, hanging = asyncio.Event(), 0

    class Hanging:
        async def send(self, target: Any, parcel: Parcel) -> Sent:
            nonlocal hanging
            if target.url == URL:
                hanging += 1
                await hold.wait()
            return Sent()

    home = house(
        robot(HOOK), robot({"type": "webhook", "opts": {"url": "https://b.example/2"}}, member_id="bob"), timeout=60
    )
    home.channels[DeliveryType.WEBHOOK] = Hanging()
    context = request_for().context
    slots = asyncio.Semaphore(64)  # as many as the service handles at once

    async def one(number: int, member: str) -> None:
        async with slots:
            theirs = context.model_copy(update={"member_id": member})
            await home.deliver(request_for(request_id=f"{member}{number}", member_id=member, context=theirs))

    stuck = [asyncio.create_task(one(number, "ann")) for number in range(200)]
    await asyncio.wait_for(asyncio.gather(*(one(number, "bob") for number in range(50))), 10)
    accepted = {each.request_id: each.result.results[0] for each in home.told("delivery.accepted")}
    assert all(accepted[f"bob{number}"].success for number in range(50))
    assert hanging == 8
    put_off = [result for name, result in accepted.items() if name.startswith("ann")]
    assert len(put_off) >= 200 - 64
    assert all(result.error == f"{URL} is busy; tried again soon" for result in put_off)
    hold.set()
    await asyncio.gather(*stuck)
