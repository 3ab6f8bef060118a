"""A request to deliver, over fakes."""

import asyncio
from typing import Any

import pytest

from delivery_center.facts import refused
from delivery_center.ports import Parcel, Rejected, Sent, TriedInVain
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.delivery import DeliveryRequestedV1, DeliveryType

TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}]}}}


async def test_every_target_is_reached_and_everybody_is_told(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    await home.deliver(request_for(), trace="00-aa-bb-01")
    names = [fact.channel.name for fact in home.bulletin.facts]
    assert sorted(names) == sorted(  # DC-08
        ["delivery.attempted", "delivery.attempted", "delivery.completed", "delivery.settled", "delivery.accepted"]
    )
    assert names[-1] == "delivery.accepted"
    (accepted,), (completed,) = home.told("delivery.accepted"), home.told("delivery.completed")
    assert accepted.result == completed.result  # DC-13
    assert (accepted.execution_id, accepted.result.success, accepted.result.error) == ("e1", True, None)
    assert accepted.result.content == request_for().content
    assert accepted.result.sent_at == home.now
    assert [(r.target, r.attempts, r.final) for r in accepted.result.results] == [
        ("https://a.example/1", 1, True),
        ("https://a.example/2", 1, True),
    ]


async def test_a_parcel_holds_content_and_context(house: Any, robot: Any, request_for: Any) -> None:  # DC-03, DC-06
    home = house(robot(TWO_HOOKS))
    await home.deliver(request_for(), trace="00-aa-bb-01")
    parcel = home.webhook.parcels[0]
    assert (parcel.body, parcel.content.summary, parcel.traceparent) == ("# Report", "All done.", "00-aa-bb-01")
    assert parcel.context == request_for().context


def test_a_request_has_no_channels(request_for: Any) -> None:  # DC-01, DC-02, DEC-32
    assert "channels" not in DeliveryRequestedV1.model_fields
    assert not hasattr(request_for(channels=["email"]), "channels")


async def test_the_same_request_again_sends_nothing_and_says_the_same(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    await home.deliver(request_for())
    first = list(home.bulletin.facts)
    home.robots.stored.clear()  # what the robot is by now doesn't matter any more
    await home.deliver(request_for())
    assert home.bulletin.facts == first + first
    assert len(home.webhook.parcels) == 2


async def test_two_at_once_publish_the_same_facts(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    await asyncio.gather(home.deliver(request_for()), home.deliver(request_for()))
    assert len({parcel.delivery_id for parcel in home.webhook.parcels}) == 2
    first, second = home.told("delivery.accepted")
    assert first == second


async def test_without_preferences_nothing_is_sent_and_all_is_well(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot())
    await home.deliver(request_for())
    (accepted,) = home.told("delivery.accepted")
    assert (accepted.result.success, accepted.result.results) == (True, [])
    (settled,) = home.told("delivery.settled")
    assert (settled.success, settled.results) == (True, [])


@pytest.mark.parametrize("deleted", [True, False])
async def test_a_robot_that_is_gone_fails_its_delivery_with_the_reason(
    house: Any, robot: Any, request_for: Any, deleted: bool
) -> None:
    home = house(robot(TWO_HOOKS, deleted=True)) if deleted else house()
    await home.deliver(request_for())
    (accepted,) = home.told("delivery.accepted")
    assert (accepted.result.success, accepted.result.results, accepted.result.sent_at) == (False, [], None)
    assert "was deleted" in accepted.result.error if deleted else "no robot ann" in accepted.result.error
    assert home.webhook.parcels == []
    assert home.told("delivery.settled")[0].success is False


async def test_failures_stay_with_their_targets(house: Any, robot: Any, request_for: Any) -> None:  # DC-14
    home = house(robot(TWO_HOOKS))
    home.webhook.script = [Rejected("answered 410", details={"status": 410}), Sent(details={"status": 200})]
    await home.deliver(request_for())
    (accepted,) = home.told("delivery.accepted")
    gone, fine = accepted.result.results
    assert (gone.success, gone.final, gone.error, gone.details, gone.sent_at) == (
        False, True, "answered 410", {"status": 410}, None,
    )  # fmt: skip
    assert (fine.success, fine.sent_at) == (True, home.now)
    assert accepted.result.success is False
    assert accepted.result.error == "webhook https://a.example/1: answered 410"
    assert [fact.result.delivery_id for fact in home.told("delivery.failed")] == [gone.delivery_id]
    assert home.told("delivery.settled")[0].success is False


async def test_what_may_pass_is_not_settled(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    home.webhook.script = [TriedInVain("answered 500", details={"status": 500})]
    await home.deliver(request_for())
    assert home.told("delivery.settled") == []
    assert home.told("delivery.failed") == []
    waiting = home.told("delivery.completed")[0].result.results[0]
    assert (waiting.success, waiting.final, waiting.error) == (False, False, "answered 500")
    assert (await home.stored()).due_at is not None


@pytest.mark.parametrize("mode", ["dryrun", "sandbox"])
async def test_a_dry_run_sends_nothing_and_says_the_same(house: Any, robot: Any, request_for: Any, mode: str) -> None:
    home = house(robot(TWO_HOOKS))
    home.recording.script = [Sent(details={"recorded": True})] * 2
    await home.deliver(request_for(executor_mode=mode))
    assert home.webhook.parcels == []
    (accepted,) = home.told("delivery.accepted")
    assert [(r.success, r.details, r.attempts) for r in accepted.result.results] == [(True, {"recorded": True}, 1)] * 2
    assert len(home.told("delivery.attempted")) == 2
    assert len(home.told("delivery.settled")) == 1


async def test_a_bug_in_one_channel_is_one_failed_attempt(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    home.webhook.script = [KeyError("x"), Sent()]
    await home.deliver(request_for())
    broken, fine = home.told("delivery.accepted")[0].result.results
    assert (broken.error, broken.final, fine.success) == ("the channel webhook failed: KeyError", False, True)


async def test_a_channel_that_does_not_answer_is_cut_off(house: Any, robot: Any, request_for: Any) -> None:
    class Silent:
        async def send(self, target: object, parcel: Parcel) -> Sent:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    home = house(robot({"type": "webhook", "opts": {"url": "https://a.example"}}), timeout=0.01)
    home.channels[DeliveryType.WEBHOOK] = Silent()
    await home.deliver(request_for())
    (result,) = home.told("delivery.accepted")[0].result.results
    assert (result.error, result.final) == ("no answer within 0.01 s", False)


async def test_targets_are_attempted_at_once_but_no_more_than_eight(house: Any, robot: Any, request_for: Any) -> None:
    running = peak = 0
    eight = asyncio.Event()

    class Counting:
        async def send(self, target: object, parcel: Parcel) -> Sent:
            nonlocal running, peak
            running += 1
            peak = max(peak, running)
            if running == 8:
                eight.set()
            await eight.wait()
            running -= 1
            return Sent()

    home = house(robot({"preferences": {"process": {"targets": [{"name": f"p{n}"} for n in range(20)]}}}))
    home.channels[DeliveryType.PROCESS] = Counting()
    await home.deliver(request_for())
    assert peak == 8
    assert len(home.told("delivery.attempted")) == 20


async def test_content_that_cannot_be_read_stops_before_anything_is_sent(
    house: Any, robot: Any, request_for: Any
) -> None:
    home = house(robot(TWO_HOOKS))
    home.texts.spoilt = Permanent("isn't what was stored")
    with pytest.raises(Permanent, match="isn't what was stored"):
        await home.deliver(request_for())
    assert home.webhook.parcels == []


async def test_what_others_say_is_cut_and_always_writable(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    home.webhook.script = [Transient("\udcff" + "x" * 10_000), Permanent("\udcff")]
    await home.deliver(request_for())
    assert all(len(fact.data.model_dump_json()) < 5000 for fact in home.bulletin.facts)
    assert home.told("delivery.accepted")[0].result.results[1].error == "?"


def test_whoever_waits_for_a_buried_request_is_answered(request_for: Any) -> None:
    answer = refused(request_for(), "broken")
    assert (answer.request_id, answer.execution_id) == ("r1", "e1")
    assert (answer.result.success, answer.result.error, answer.result.results) == (False, "broken", [])


async def test_a_dry_run_that_comes_again_says_what_was_stored(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    await home.deliver(request_for(executor_mode="dryrun"))
    first = list(home.bulletin.facts)
    home.pass_time(seconds=9)
    await home.deliver(request_for(executor_mode="dryrun"))
    assert home.bulletin.facts == first + first
