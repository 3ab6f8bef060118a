"""The delivery log as it is listed."""

from typing import Any

from delivery_center.delivery_log.list_deliveries import ListDeliveries
from delivery_center.ports import Rejected, TransientReply
from rota_contracts.messages import delivery_log as messages
from rota_contracts.messages.delivery_log import DeliveryPage

TWO_HOOKS = {
    "preferences": {"webhook": {"targets": [{"url": "https://a.example/1?k=s"}, {"url": "https://a.example/2"}]}}
}


async def listed(harness: Any, **fields: Any) -> DeliveryPage:
    return await ListDeliveries(harness.deliveries)(
        messages.ListDeliveries.model_validate({"team_id": "acme"} | fields)
    )


async def test_each_delivery_is_listed_with_the_state_of_each_target(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.webhook.script = [TransientReply("answered 500"), Rejected("answered 410")]
    await harness.deliver(request_for())
    ((one,),) = ((await listed(harness)).deliveries,)
    assert (one.request_id, one.member_id, one.execution_id) == ("r1", "ann", "e1")
    assert (one.state, one.summary, one.created_at, one.replay_of) == ("pending", "All done.", harness.now, None)
    waiting, gone = one.targets
    assert (waiting.state, waiting.target, waiting.attempts) == ("retrying", "https://a.example/1", 1)
    assert (waiting.error, waiting.next_attempt_at is not None) == ("answered 500", True)
    assert (gone.state, gone.error, gone.next_attempt_at) == ("failed", "answered 410", None)
    harness.pass_time(minutes=1)
    await harness.retry_what_is_due()
    ((one,),) = ((await listed(harness)).deliveries,)
    assert one.state == "failed"


async def test_why_a_target_was_given_up_without_an_attempt_is_shown(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.webhook.script = [TransientReply("answered 500"), TransientReply("answered 500")]
    await harness.deliver(request_for())
    await harness.stop_retries("acme", "ann")
    ((one,),) = ((await listed(harness, state="failed")).deliveries,)
    assert [target.error for target in one.targets] == ["the robot ann was deleted"] * 2


async def test_the_last_page_has_no_cursor(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    for number in range(3):
        await harness.deliver(request_for(request_id=f"r{number}"))
        harness.pass_time(seconds=1)
    first = await listed(harness, limit=2)
    last = await listed(harness, limit=2, after=first.next)
    assert [each.request_id for each in (*first.deliveries, *last.deliveries)] == ["r2", "r1", "r0"]
    assert last.next == ""
