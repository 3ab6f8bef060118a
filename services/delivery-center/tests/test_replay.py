"""Replays: the selected targets, their destinations, and their facts."""

import json
from typing import Any

import pytest

from delivery_center.adapters.httpx_webhook import payload
from delivery_center.delivery_log.list_deliveries import ListDeliveries
from delivery_center.delivery_log.replay import Replay
from delivery_center.ports import Rejected, TransientReply
from rota_common.errors import Permanent
from rota_contracts.messages.delivery import DeliveryPermission, Permission
from rota_contracts.messages.delivery_log import ListDeliveries as Question
from rota_contracts.messages.delivery_log import ReplayDeliveries, ReplayDeliveriesReply

GONE = Rejected("answered 410", details={"status": 410, "body": "gone"})


def hooks(*paths: str) -> dict[str, Any]:
    return {"preferences": {"webhook": {"targets": [{"url": f"https://a.example/{path}"} for path in paths]}}}


async def replayed(harness: Any, **fields: Any) -> ReplayDeliveriesReply:
    asked = ReplayDeliveries.model_validate({"team_id": "acme", "replay_id": "p1"} | fields)
    stores = {"log": harness.deliveries, "robots": harness.robots, "publisher": harness.publisher}
    return await Replay(**stores, clock=harness.clock)(asked)


async def states(harness: Any) -> dict[str, list[str]]:
    """Of the targets of each delivery."""
    found = await ListDeliveries(harness.deliveries)(Question(team_id="acme"))
    return {each.request_id: [target.state.value for target in each.targets] for each in found.deliveries}


@pytest.fixture
async def harness(new_harness: Any, robot: Any, request_for: Any) -> Any:
    """The first of two targets was given up, the second succeeded."""
    made = new_harness(robot(hooks("1", "2")))
    made.webhook.script = [GONE]
    await made.deliver(request_for())
    made.publisher.facts.clear()
    made.pass_time(hours=1)
    return made


async def test_a_failed_target_is_replayed_under_a_new_id(harness: Any) -> None:
    answer = await replayed(harness)
    (one,) = answer.replayed
    assert (one.replay_of, one.targets, answer.next) == ("r1", 1, "")
    assert await harness.retry_what_is_due() == 1
    first, *_, again = harness.webhook.sent
    assert (again.replay_of, again.request_id) == ("r1", one.request_id)
    assert again.delivery_id not in {outgoing.delivery_id for outgoing in harness.webhook.sent[:-1]}
    assert (again.content, again.context, again.body) == (first.content, first.context, first.body)
    assert json.loads(payload(again))["data"]["replay_of"] == "r1"
    assert "replay_of" not in json.loads(payload(first))["data"]
    assert await states(harness) == {one.request_id: ["delivered"], "r1": ["failed", "delivered"]}


async def test_the_facts_of_a_replay_refer_to_its_original(harness: Any) -> None:
    harness.webhook.script = [TransientReply("answered 500"), GONE]
    await replayed(harness)
    await harness.retry_what_is_due()
    harness.pass_time(minutes=1)
    await harness.retry_what_is_due()
    names = [fact.channel.name for fact in harness.publisher.facts]
    assert names == ["delivery.attempted"] * 2 + ["delivery.failed", "delivery.settled"]
    assert {fact.data.replay_of for fact in harness.publisher.facts} == {"r1"}


async def test_the_facts_of_a_replay_are_searched_from_where_it_was_requested(harness: Any) -> None:
    (original,) = harness.deliveries.stored.values()
    await harness.publisher.publish([None] * 3, of=original)
    (one,) = (await replayed(harness)).replayed
    places = {each.request_id: each.feed_position for each in harness.deliveries.stored.values()}
    assert places == {"r1": 0, one.request_id: 3}


async def test_a_repeated_replay_sends_everything_once(harness: Any) -> None:
    first = await replayed(harness)
    assert await replayed(harness) == first
    assert await harness.retry_what_is_due() == 1
    assert await replayed(harness) == first
    assert await harness.retry_what_is_due() == 0


async def test_a_dry_run_of_a_replay_lists_it_and_sends_nothing(harness: Any) -> None:
    would_be = await replayed(harness, dry_run=True)
    assert await harness.retry_what_is_due() == 0
    assert list(await states(harness)) == ["r1"]
    assert await replayed(harness) == would_be


async def test_a_target_that_a_replay_reached_is_not_replayed_as_failed(harness: Any) -> None:
    await replayed(harness)
    assert await replayed(harness, replay_id="p2") == ReplayDeliveriesReply(), "the first is still being tried"
    await harness.retry_what_is_due()
    assert await replayed(harness, replay_id="p2") == ReplayDeliveriesReply()
    (everything,) = (await replayed(harness, replay_id="p3", targets="all")).replayed
    assert everything.targets == 2


async def test_a_failed_replay_can_be_replayed_again(harness: Any) -> None:
    harness.webhook.script = [GONE]
    (first,) = (await replayed(harness)).replayed
    await harness.retry_what_is_due()
    (second,) = (await replayed(harness, replay_id="p2")).replayed
    (third,) = (await replayed(harness, replay_id="p3", request_id=first.request_id, targets="all")).replayed or (None,)
    assert second.replay_of == "r1"
    assert third is None, "the second is still being tried"


async def test_a_replay_of_a_replay_refers_to_the_first_original(harness: Any) -> None:
    harness.webhook.script = [GONE]
    (first,) = (await replayed(harness)).replayed
    await harness.retry_what_is_due()
    (second,) = (await replayed(harness, replay_id="p2", request_id=first.request_id)).replayed
    assert second.replay_of == "r1"


async def test_all_final_targets_or_a_single_one_are_replayed_on_demand(harness: Any) -> None:
    (everything,) = (await replayed(harness, targets="all")).replayed
    assert everything.targets == 2
    await harness.retry_what_is_due()
    target = (await harness.stored()).targets[1]
    (one,) = (await replayed(harness, replay_id="p2", targets="all", target_id=target.target_id)).replayed
    assert one.targets == 1
    await harness.retry_what_is_due()
    assert len(harness.webhook.sent) == 2 + 2 + 1


async def test_a_pending_target_is_not_replayed(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(hooks("1", "2")))
    harness.webhook.script = [GONE, TransientReply("answered 500")]
    await harness.deliver(request_for())
    (one,) = (await replayed(harness, targets="all")).replayed
    assert one.targets == 1
    assert (await states(harness))["r1"] == ["failed", "retrying"]


async def test_a_replay_goes_to_the_targets_of_its_original(harness: Any, robot: Any) -> None:
    changed = robot(hooks("elsewhere"))
    harness.robots.stored[changed.team_id, changed.member_id] = changed
    original = (await harness.stored()).targets[0]
    (one,) = (await replayed(harness)).replayed
    again = await harness.deliveries.find(one.request_id)
    assert [(each.label, each.config, each.target_id) for each in again.targets] == [
        (original.label, original.config, original.target_id)
    ]


async def test_a_replay_is_sent_although_its_execution_was_stopped(harness: Any) -> None:
    harness.executions.script = [DeliveryPermission(leave=Permission.DENY, reason="stopped by ann")]
    harness.control("stop", "e1")
    await replayed(harness)
    asked_before = len(harness.executions.asked)
    await harness.retry_what_is_due()
    assert len(harness.webhook.sent) == 3
    assert len(harness.executions.asked) == asked_before


async def test_a_deleted_robot_sends_nothing_more(harness: Any, robot: Any) -> None:
    harness.robots.stored["acme", "ann"] = robot(hooks("1"), deleted=True)
    for asked in ({"request_id": "r1"}, {"member_id": "ann"}):
        with pytest.raises(Permanent, match="the robot ann was deleted: nothing is replayed"):
            await replayed(harness, **asked)
    assert await replayed(harness) == ReplayDeliveriesReply(), "others of the team are replayed without it"
    harness.robots.stored.clear()
    with pytest.raises(Permanent, match="there is no robot ann"):
        await replayed(harness, request_id="r1")


async def test_a_replay_of_a_robot_deleted_since_is_given_up(harness: Any, robot: Any) -> None:
    await replayed(harness)
    harness.robots.stored["acme", "ann"] = robot(hooks("1"), deleted=True)
    await harness.retry_what_is_due()
    assert len(harness.webhook.sent) == 2
    (failed,) = harness.published("delivery.failed")
    assert (failed.result.error, failed.replay_of) == ("the robot ann was deleted", "r1")


async def test_a_range_goes_page_by_page_oldest_first(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(hooks("1")))
    for number in range(5):
        harness.webhook.script = [GONE]
        await harness.deliver(request_for(request_id=f"r{number}"))
        harness.pass_time(minutes=1)
    seen: list[list[str]] = []
    after, going = "", True
    while going:
        answer = await replayed(harness, limit=2, after=after)
        seen.append([each.replay_of for each in answer.replayed])
        after, going = answer.next, bool(answer.next)
        harness.pass_time(seconds=1)
    assert seen == [["r0", "r1"], ["r2", "r3"], ["r4"]]
    await harness.retry_what_is_due()
    assert [outgoing.replay_of for outgoing in harness.webhook.sent[5:]] == ["r0", "r1", "r2", "r3", "r4"]


async def test_an_invalid_cursor_is_refused(harness: Any, subtests: pytest.Subtests) -> None:
    for after in ["x", "bm9wZQ", "e30", "WyIyMDI2LTAxLTAxVDAwOjAwOjAwIiwgInIxIl0", "\u00e4"]:
        with subtests.test(after=after):
            with pytest.raises(Permanent, match="the next of an earlier answer"):
                await replayed(harness, after=after)
            with pytest.raises(Permanent, match="the next of an earlier answer"):
                await ListDeliveries(harness.deliveries)(Question(team_id="acme", after=after))
