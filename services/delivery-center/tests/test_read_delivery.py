"""A delivery as it is read."""

from datetime import timedelta
from typing import Any

from delivery_center.adapters.in_memory import InlineTexts
from delivery_center.delivery_log.read_delivery import ReadDelivery
from delivery_center.domain.facts import BODY_LIMIT
from delivery_center.ports import Rejected, TransientReply
from rota_contracts.messages.delivery import DeliveryPermission, DeliveryReply, Permission
from rota_contracts.messages.delivery import ReadDelivery as Question
from rota_contracts.messages.text import Text

TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}]}}}


def reading(harness: Any) -> ReadDelivery:
    return ReadDelivery(log=harness.deliveries, texts=InlineTexts())


async def read(harness: Any, team: str = "acme", execution_id: str = "e1") -> DeliveryReply:
    return await reading(harness)(Question(team_id=team, execution_id=execution_id))


async def test_every_target_is_shown_with_its_attempts_and_the_next(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.webhook.script = [TransientReply("answered 500"), Rejected("answered 410"), TransientReply("answered 503")]
    await harness.deliver(request_for())
    harness.pass_time(seconds=7)
    await harness.retry_what_is_due()
    found = await read(harness)
    assert (found.request_id, found.settled, found.error) == ("r1", False, None)
    assert found.accepted_at == harness.now - timedelta(seconds=7)
    waiting, gone = found.targets
    assert [(each.ok, each.error) for each in waiting.attempts] == [(False, "answered 500"), (False, "answered 503")]
    assert [each.at for each in waiting.attempts] == [found.accepted_at, harness.now]
    assert waiting.next_attempt_at is not None
    assert waiting.next_attempt_at > harness.now
    assert (waiting.result.final, waiting.result.attempts) == (False, 2)
    assert (gone.result.final, gone.result.error, gone.next_attempt_at) == (True, "answered 410", None)
    harness.pass_time(seconds=60)
    await harness.retry_what_is_due()
    assert (await read(harness)).settled


async def test_why_nothing_was_sent_is_shown(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.executions.script = [DeliveryPermission(leave=Permission.DENY, reason="stopped by ann")]
    await harness.deliver(request_for())
    found = await read(harness)
    assert (found.settled, found.error) == (True, "stopped by ann")
    assert [(each.result.error, each.attempts) for each in found.targets] == [("stopped by ann", [])] * 2


async def test_another_team_and_another_execution_have_none(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    await harness.deliver(request_for())
    assert await read(harness, team="other") == await read(harness, execution_id="e2") == DeliveryReply()


async def test_a_delivery_is_read_by_its_own_id_and_only_by_its_team(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.webhook.script = [Rejected("answered 410", details={"status": 410, "body": "gone"})]
    await harness.deliver(request_for())
    found = await reading(harness)(Question(team_id="acme", request_id="r1"))
    assert (found.request_id, found.summary, found.replay_of) == ("r1", "All done.", None)
    assert found.context == request_for().context
    assert found.targets[0].attempts[0].details == {"status": 410, "body": "gone"}
    for team, request_id in (("other", "r1"), ("acme", "r2")):
        nothing = await reading(harness)(Question(team_id=team, request_id=request_id))
        assert nothing == DeliveryReply()


async def test_a_long_body_is_in_the_log_and_in_the_feed_by_reference(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness, long = new_harness(robot(TWO_HOOKS)), "ö" * BODY_LIMIT
    asked = request_for()
    content = asked.content.model_copy(update={"body": Text(inline=long)})
    await harness.deliver(asked.model_copy(update={"content": content}))
    (completed,), (accepted,) = harness.published("delivery.completed"), harness.published("delivery.accepted")
    ref = completed.result.content.body.ref
    assert (ref.bucket, ref.name, ref.size, len(completed.model_dump_json()) < 5000) == (
        "deliveries", "r1", 2 * BODY_LIMIT, True,
    )  # fmt: skip
    assert accepted.result.content.body.inline == long
    found = await reading(harness)(Question(team_id="acme", request_id="r1", with_body=True))
    assert found.body == long
    assert (await reading(harness)(Question(team_id="beta", request_id="r1", with_body=True))).body is None
    assert (await read(harness)).body is None


async def test_an_answer_stays_within_a_message_whatever_receivers_replied(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    targets = [{"url": f"https://a.example/{number}"} for number in range(100)]
    harness = new_harness(robot({"preferences": {"webhook": {"targets": targets}}}))
    harness.webhook.script = [Rejected("no", details={"body": "\x01" * 2048}) for _ in targets]
    await harness.deliver(request_for())
    found = await read(harness)
    assert len(found.model_dump_json()) < 1024 * 1024
    assert [(each.result.error, each.attempts[0].details) for each in found.targets] == [("no", None)] * 100
