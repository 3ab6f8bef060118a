"""Later attempts, over fakes and a clock that the test sets."""

import asyncio
from datetime import datetime
from typing import Any

import pytest

from delivery_center.adapters.in_memory import MemoryDeliveries
from delivery_center.attempts.sweep import Sweep
from delivery_center.domain.delivery import Delivery
from delivery_center.ports import Rejected, Sent, TriedInVain
from rota_common.errors import Permanent, Transient

HOOK = {"type": "webhook", "opts": {"url": "https://a.example/1"}}
TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}]}}}
DOWN = TriedInVain("answered 500")


async def test_a_target_that_failed_is_tried_again_under_its_id_until_it_is_reached(
    house: Any, robot: Any, request_for: Any
) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN, DOWN]
    await home.deliver(request_for())
    assert await home.retry_what_is_due() == 0
    home.pass_time(seconds=6)
    assert await home.retry_what_is_due() == 1
    home.pass_time(seconds=36)
    assert await home.retry_what_is_due() == 1
    first, second, third = home.webhook.parcels
    assert first.delivery_id == second.delivery_id == third.delivery_id
    assert first.created_at == third.created_at < third.at
    assert [attempted.attempt for attempted in home.told("delivery.attempted")] == [1, 2, 3]
    (settled,) = home.told("delivery.settled")
    assert (settled.success, settled.results[0].attempts) == (True, 3)
    assert (await home.stored()).due_at is None
    assert len(home.told("delivery.completed")) == 1


async def test_after_the_last_attempt_the_target_is_given_up_and_everybody_is_told(
    house: Any, robot: Any, request_for: Any
) -> None:
    home = house(robot(TWO_HOOKS))
    home.webhook.script = [DOWN, Sent(), DOWN, DOWN]
    await home.deliver(request_for())
    for _ in range(2):
        home.pass_time(hours=1)
        await home.retry_what_is_due()
    (failed,) = home.told("delivery.failed")
    assert (failed.result.error, failed.result.final) == ("answered 500 (given up after 3 attempts)", True)
    (settled,) = home.told("delivery.settled")
    assert [result.success for result in settled.results] == [False, True]
    assert settled.success is False
    home.pass_time(days=9)
    assert await home.retry_what_is_due() == 0
    assert len((await home.stored()).targets[0].attempts) == 3


async def test_a_refusal_at_a_later_attempt_is_final(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN, Rejected("answered 410")]
    await home.deliver(request_for())
    home.pass_time(seconds=6)
    await home.retry_what_is_due()
    assert home.told("delivery.failed")[0].result.error == "answered 410"
    assert (await home.stored()).settled


async def test_a_claim_is_for_one_and_ends(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN]
    await home.deliver(request_for())
    home.pass_time(seconds=6)
    dead = await home.retry.claim()
    assert await home.retry.claim() is None
    home.pass_time(seconds=41)
    alive = await home.retry.claim()
    assert alive is not None
    await home.retry(alive)
    facts = len(home.bulletin.facts)
    await home.retry(dead)  # back from the dead: it may send again, under the same id, but writes and says nothing
    assert len(home.bulletin.facts) == facts
    assert (await home.stored()).targets[0].attempts[-1].ok


async def test_what_was_saved_and_not_published_is_published_by_the_next_owner(
    house: Any, robot: Any, request_for: Any
) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN]
    await home.deliver(request_for())
    home.pass_time(seconds=6)
    home.bulletin.failures = [ConnectionError("NATS is away")]
    with pytest.raises(ConnectionError):
        await home.retry_what_is_due()
    assert home.told("delivery.settled") == []
    home.pass_time(seconds=41)
    assert await home.retry_what_is_due() == 1
    assert len(home.webhook.parcels) == 2
    assert [attempted.attempt for attempted in home.told("delivery.attempted")] == [1, 2]
    assert len(home.told("delivery.settled")) == 1


async def test_a_crash_before_saving_sends_again_under_the_same_id(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN]
    await home.deliver(request_for())
    home.pass_time(seconds=6)
    assert await home.retry.claim() is not None  # and its owner dies
    home.pass_time(seconds=41)
    await home.retry_what_is_due()
    assert [attempted.attempt for attempted in home.told("delivery.attempted")] == [1, 2]


async def test_many_due_targets_are_taken_in_portions(house: Any, robot: Any, request_for: Any) -> None:
    home = house(
        robot({"preferences": {"webhook": {"targets": [{"url": f"https://a.example/{n}"} for n in range(20)]}}})
    )
    home.webhook.script = [DOWN] * 20
    await home.deliver(request_for())
    home.pass_time(seconds=6)
    assert await home.retry_what_is_due() == 3
    assert len(home.webhook.parcels) == 40
    assert len(home.told("delivery.settled")) == 1


async def test_the_request_again_after_retries_still_says_the_first_outcomes(
    house: Any, robot: Any, request_for: Any
) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN]
    await home.deliver(request_for())
    first = list(home.bulletin.facts)
    home.pass_time(seconds=6)
    await home.retry_what_is_due()
    home.bulletin.facts.clear()
    await home.deliver(request_for())
    assert home.bulletin.facts == first


@pytest.mark.parametrize("how", ["deleted", "missing"])
async def test_a_robot_that_is_gone_by_then_is_not_retried(house: Any, robot: Any, request_for: Any, how: str) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN]
    await home.deliver(request_for())
    home.robots.stored = {("acme", "ann"): robot(HOOK, deleted=True)} if how == "deleted" else {}
    home.pass_time(seconds=6)
    await home.retry_what_is_due()
    assert len(home.webhook.parcels) == 1
    assert "robot ann" in home.told("delivery.failed")[0].result.error
    assert home.told("delivery.settled")[0].success is False


async def test_deleting_a_robot_gives_up_what_is_tried_for_it(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS), robot(HOOK, member_id="bob"))
    home.webhook.script = [DOWN, Sent(), DOWN]
    await home.deliver(request_for())
    context = request_for().context.model_copy(update={"member_id": "bob"})
    await home.deliver(request_for(request_id="r2", member_id="bob", context=context.model_dump()))
    await home.stop_retries("acme", "ann")
    (failed,) = home.told("delivery.failed")
    assert (failed.result.error, failed.result.final, failed.result.attempts) == ("the robot ann was deleted", True, 1)
    (settled,) = home.told("delivery.settled")
    assert [result.success for result in settled.results] == [False, True]
    assert [attempted.attempt for attempted in home.told("delivery.attempted")] == [1, 1, 1]
    home.pass_time(seconds=6)
    assert await home.retry_what_is_due() == 1  # bob's
    before = len(home.bulletin.facts)
    await home.stop_retries("acme", "ann")
    assert len(home.bulletin.facts) == before


async def test_an_attempt_under_way_is_waited_for_before_it_is_given_up(
    house: Any, robot: Any, request_for: Any
) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN]
    await home.deliver(request_for())
    home.pass_time(seconds=6)
    under_way = await home.retry.claim()
    with pytest.raises(Transient, match="are being attempted just now"):
        await home.stop_retries("acme", "ann")
    await home.retry(under_way)
    await home.stop_retries("acme", "ann")
    assert home.told("delivery.failed") == []
    assert home.told("delivery.settled")[0].success is True


async def test_content_that_cannot_be_read_any_more_is_given_up(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(HOOK))
    home.webhook.script = [DOWN]
    await home.deliver(request_for())
    home.texts.spoilt = Permanent("isn't what was stored")
    home.pass_time(seconds=6)
    await home.retry_what_is_due()
    assert home.told("delivery.failed")[0].result.error == "isn't what was stored"


async def test_the_sweep_survives_a_store_that_is_away_and_a_retry_that_fails(
    house: Any, robot: Any, request_for: Any
) -> None:
    class Shaky(MemoryDeliveries):
        failures = 2

        async def claim_due(self, now: datetime, until: datetime) -> Delivery | None:
            if self.failures:
                self.failures -= 1
                raise ConnectionError("MongoDB is away")
            return await super().claim_due(now, until)

    home = house(robot(HOOK), deliveries=Shaky())
    home.webhook.script = [DOWN]
    await home.deliver(request_for())
    home.bulletin.failures = [ConnectionError("NATS is away")]
    home.pass_time(seconds=6)
    sweep = asyncio.create_task(Sweep(home.retry, interval=0.001)())
    async with asyncio.timeout(5):
        while home.told("delivery.settled") == []:
            await asyncio.sleep(0.001)
            home.pass_time(seconds=1)
    sweep.cancel()
    assert len(home.webhook.parcels) == 2
