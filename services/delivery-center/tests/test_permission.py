"""The executor's permission before anything is sent, over adapters in memory."""

from datetime import timedelta
from typing import Any

import pytest

from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.ports import Sent, TransientReply
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.delivery import DeliveryPermission, DeliveryType, Permission

HOOK = {"type": "webhook", "opts": {"url": "https://a.example/1"}}
TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}]}}}
TWENTY = {"preferences": {"process": {"targets": [{"name": f"p{n}"} for n in range(20)]}}}
DOWN = TransientReply("answered 500")
STOP = DeliveryPermission(leave=Permission.DENY, reason="stopped by the team")
HOLD = DeliveryPermission(leave=Permission.HOLD, reason="paused by ann")
AWAY = Transient("executor isn't there")


class Signalling:
    """A channel; during each of its attempts the executors broadcast `signal`."""

    def __init__(self, harness: Any, *signals: str) -> None:
        self.harness = harness
        self.signals = signals
        self.sent = 0

    async def send(self, target: object, outgoing: OutgoingMessage) -> Sent:
        self.sent += 1
        for action in self.signals:
            self.harness.control(action, reason="wrong customer")
        return Sent()


# The first attempts


async def test_the_executor_is_asked_before_anything_is_sent(
    new_harness: Any, robot: Any, request_for: Any
) -> None:  # F11
    harness = new_harness(robot(TWO_HOOKS))
    await harness.deliver(request_for())
    assert harness.executions.asked == [("acme", "e1")]
    assert len(harness.webhook.sent) == 2


@pytest.mark.parametrize("mode", ["dryrun", "sandbox"])
async def test_no_permission_is_requested_where_nothing_is_sent(
    new_harness: Any, robot: Any, request_for: Any, mode: str
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.control("stop")
    await harness.deliver(request_for(executor_mode=mode))
    assert harness.executions.asked == []
    assert harness.published("delivery.accepted")[0].result.success is True


async def test_the_delivery_of_a_stopped_execution_fails(new_harness: Any, robot: Any, request_for: Any) -> None:  # F11
    harness = new_harness(robot(TWO_HOOKS))
    harness.executions.script = [STOP]
    await harness.deliver(request_for())
    assert harness.webhook.sent == []
    (accepted,) = harness.published("delivery.accepted")
    assert (accepted.result.success, accepted.result.error, accepted.result.sent_at) == (False, STOP.reason, None)
    shown = [(r.success, r.error, r.final, r.attempts) for r in accepted.result.results]
    assert shown == [(False, STOP.reason, True, 0)] * 2
    assert harness.published("delivery.attempted") == []
    assert len(harness.published("delivery.failed")) == 2
    assert harness.published("delivery.settled")[0].success is False
    stored = await harness.stored()
    assert (stored.error, stored.settled, stored.due_at) == (STOP.reason, True, None)
    first = list(harness.publisher.facts)
    await harness.deliver(request_for())  # again
    assert harness.publisher.facts == first + first
    assert len(harness.executions.asked) == 1


async def test_a_request_that_is_held_for_long_is_dropped_and_accepted_when_repeated(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    harness.executions.script = [HOLD]
    await harness.deliver(request_for(), at=harness.clock() - timedelta(minutes=16))
    assert (harness.webhook.sent, harness.published("delivery.accepted")) == ([], [])
    await harness.deliver(request_for(), at=harness.clock())
    assert len(harness.webhook.sent) == 2
    assert harness.published("delivery.accepted")[0].result.success is True


@pytest.mark.parametrize(("answer", "reason", "after"), [(HOLD, "paused by ann", 2), (AWAY, "isn't there", None)])
async def test_a_request_is_repeated_while_the_permission_is_held_or_unknown(
    new_harness: Any, robot: Any, request_for: Any, answer: Any, reason: str, after: float | None
) -> None:
    harness = new_harness(robot(HOOK))
    harness.executions.script = [answer]
    with pytest.raises(Transient, match=reason) as raised:
        await harness.deliver(request_for())
    assert raised.value.after == after
    assert await harness.deliveries.find("r1") is None
    assert harness.webhook.sent == harness.publisher.facts == []
    await harness.deliver(request_for())
    assert harness.published("delivery.accepted")[0].result.success is True


async def test_a_stop_during_the_attempts_withholds_the_rest(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWENTY))
    channel = harness.channels[DeliveryType.PROCESS] = Signalling(harness, "stop")
    await harness.deliver(request_for())
    (accepted,) = harness.published("delivery.accepted")
    sent, dropped = accepted.result.results[: channel.sent], accepted.result.results[channel.sent :]
    assert 1 <= channel.sent <= 8
    assert all(result.success for result in sent)
    shown = {(result.success, result.error, result.final, result.attempts) for result in dropped}
    assert shown == {(False, "wrong customer", True, 0)}
    assert len(harness.published("delivery.attempted")) == channel.sent
    assert len(harness.published("delivery.failed")) == len(dropped)
    assert harness.published("delivery.settled")[0].success is False


async def test_a_pause_during_the_attempts_postpones_the_rest(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWENTY))
    channel = harness.channels[DeliveryType.PROCESS] = Signalling(harness, "pause")
    await harness.deliver(request_for())
    first = list(harness.publisher.facts)
    (accepted,) = harness.published("delivery.accepted")
    shown = {(r.success, r.error, r.final, r.attempts) for r in accepted.result.results[channel.sent :]}
    assert shown == {(False, "wrong customer", False, 0)}
    assert harness.published("delivery.settled") == harness.published("delivery.failed") == []
    harness.control("resume")
    channel.said = ()
    while not (await harness.stored()).settled:
        harness.pass_time(seconds=6)
        await harness.retry_what_is_due()
    assert channel.sent == 20
    attempted = harness.published("delivery.attempted")
    assert [each.attempt for each in attempted] == [1] * 20
    assert len({each.result.delivery_id for each in attempted}) == 20
    assert harness.published("delivery.settled")[0].success is True
    harness.publisher.facts.clear()
    await harness.deliver(request_for())  # redelivered: the first answer stays
    assert harness.publisher.facts == first


async def test_a_pause_right_after_the_permission_sends_nothing(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = new_harness(robot(TWO_HOOKS))
    ask = harness.executions.may_deliver

    async def paused_meanwhile(team: str, execution_id: str, request_id: str) -> DeliveryPermission:
        answer: DeliveryPermission = await ask(team, execution_id, request_id)
        harness.control("pause")
        return answer

    harness.executions.may_deliver = paused_meanwhile
    with pytest.raises(Transient, match="the execution is paused"):
        await harness.deliver(request_for())
    assert harness.webhook.sent == []
    assert (await harness.stored()).starting


@pytest.mark.parametrize("heard", ["pause", "stop"])
async def test_the_executors_reply_overrides_a_signal(
    new_harness: Any, robot: Any, request_for: Any, heard: str
) -> None:
    harness = new_harness(robot(HOOK))
    harness.control(heard)
    await harness.deliver(request_for())
    assert len(harness.webhook.sent) == 1


async def test_a_deleted_robot_or_one_without_targets_needs_no_permission(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    gone, quiet = new_harness(), new_harness(robot())
    await gone.deliver(request_for())
    await quiet.deliver(request_for())
    assert gone.executions.asked == quiet.executions.asked == []


# Later attempts


async def failed_once(new_harness: Any, robot: Any, request_for: Any, preferences: Any = HOOK) -> Any:
    """A harness whose first attempt failed, and whose next one is due."""
    harness = new_harness(robot(preferences))
    harness.webhook.script = [DOWN] * len(preferences.get("preferences", {}).get("webhook", {}).get("targets", [1]))
    await harness.deliver(request_for())
    harness.pass_time(seconds=7)
    harness.executions.asked.clear()
    return harness


async def test_the_executor_is_asked_again_before_each_later_attempt(
    new_harness: Any, robot: Any, request_for: Any
) -> None:
    harness = await failed_once(new_harness, robot, request_for)
    await harness.retry_what_is_due()
    assert harness.executions.asked == [("acme", "e1")]
    assert harness.published("delivery.settled")[0].success is True


async def test_the_retries_of_a_stopped_execution_are_given_up(
    new_harness: Any, robot: Any, request_for: Any
) -> None:  # F11
    harness = await failed_once(new_harness, robot, request_for)
    harness.executions.script = [STOP]
    await harness.retry_what_is_due()
    assert len(harness.webhook.sent) == 1
    (failed,) = harness.published("delivery.failed")
    assert (failed.result.error, failed.result.final, failed.result.attempts) == (STOP.reason, True, 1)
    assert harness.published("delivery.settled")[0].success is False


@pytest.mark.parametrize("answer", [HOLD, AWAY])
async def test_retries_wait_without_an_attempt_while_the_permission_is_held_or_unknown(
    new_harness: Any, robot: Any, request_for: Any, answer: Any
) -> None:
    harness = await failed_once(new_harness, robot, request_for)
    facts = list(harness.publisher.facts)
    for _ in range(9):  # more often than there are attempts
        harness.executions.script = [answer]
        assert await harness.retry_what_is_due() == 1
        assert await harness.retry_what_is_due() == 0
        harness.pass_time(seconds=5)
    (target,) = (await harness.stored()).targets
    assert (len(target.attempts), len(harness.webhook.sent)) == (1, 1)
    assert harness.publisher.facts == facts
    await harness.retry_what_is_due()
    assert harness.published("delivery.settled")[0].results[0].attempts == 2


async def test_a_refused_permission_request_ends_the_retries(new_harness: Any, robot: Any, request_for: Any) -> None:
    harness = await failed_once(new_harness, robot, request_for)
    harness.executions.script = [Permanent("expected a team")]
    await harness.retry_what_is_due()
    assert harness.published("delivery.failed")[0].result.error == "expected a team"


@pytest.mark.parametrize(("action", "failed", "left"), [("stop", 1, 0), ("pause", 0, 1)])
async def test_a_signal_between_two_attempts_withholds_the_second(
    new_harness: Any, robot: Any, request_for: Any, action: str, failed: int, left: int
) -> None:
    harness = await failed_once(new_harness, robot, request_for, TWO_HOOKS)
    channel = harness.channels[DeliveryType.WEBHOOK] = Signalling(harness, action)
    await harness.retry_what_is_due()
    assert channel.sent == 1
    assert len(harness.published("delivery.failed")) == failed
    assert [target.next_attempt_at is not None for target in (await harness.stored()).targets] == [False, bool(left)]
    assert [each.attempt for each in harness.published("delivery.attempted")] == [1, 1, 2]
