"""Nothing leaves before the executor has said that it may, over fakes."""

from datetime import timedelta
from typing import Any

import pytest

from delivery_center.ports import Parcel, Sent, TriedInVain
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.delivery import DeliveryPermission, DeliveryType, Permission

HOOK = {"type": "webhook", "opts": {"url": "https://a.example/1"}}
TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}]}}}
TWENTY = {"preferences": {"process": {"targets": [{"name": f"p{n}"} for n in range(20)]}}}
DOWN = TriedInVain("answered 500")
STOP = DeliveryPermission(leave=Permission.DENY, reason="stopped by the team")
HOLD = DeliveryPermission(leave=Permission.HOLD, reason="paused by ann")
AWAY = Transient("executor isn't there")


class Interrupted:
    """A channel; at each of its attempts the executors say `said` to all."""

    def __init__(self, house: Any, *said: str) -> None:
        self.house, self.said, self.sent = house, said, 0

    async def send(self, target: object, parcel: Parcel) -> Sent:
        self.sent += 1
        for action in self.said:
            self.house.control(action, reason="wrong customer")
        return Sent()


# The first attempts


async def test_the_executor_is_asked_before_anything_is_sent(house: Any, robot: Any, request_for: Any) -> None:  # F11
    home = house(robot(TWO_HOOKS))
    await home.deliver(request_for())
    assert home.executions.asked == [("acme", "e1")]
    assert len(home.webhook.parcels) == 2


@pytest.mark.parametrize("mode", ["dryrun", "sandbox"])
async def test_where_nothing_is_sent_nobody_is_asked(house: Any, robot: Any, request_for: Any, mode: str) -> None:
    home = house(robot(TWO_HOOKS))
    home.control("stop")
    await home.deliver(request_for(executor_mode=mode))
    assert home.executions.asked == []
    assert home.told("delivery.accepted")[0].result.success is True


async def test_the_result_of_a_stopped_execution_is_refused(house: Any, robot: Any, request_for: Any) -> None:  # F11
    home = house(robot(TWO_HOOKS))
    home.executions.script = [STOP]
    await home.deliver(request_for())
    assert home.webhook.parcels == []
    (accepted,) = home.told("delivery.accepted")
    assert (accepted.result.success, accepted.result.error, accepted.result.sent_at) == (False, STOP.reason, None)
    shown = [(r.success, r.error, r.final, r.attempts) for r in accepted.result.results]
    assert shown == [(False, STOP.reason, True, 0)] * 2
    assert home.told("delivery.attempted") == []
    assert len(home.told("delivery.failed")) == 2
    assert home.told("delivery.settled")[0].success is False
    stored = await home.stored()
    assert (stored.error, stored.settled, stored.due_at) == (STOP.reason, True, None)
    first = list(home.bulletin.facts)
    await home.deliver(request_for())  # again
    assert home.bulletin.facts == first + first
    assert len(home.executions.asked) == 1


async def test_a_request_that_is_held_for_long_is_let_go_of_and_taken_when_it_is_made_again(
    house: Any, robot: Any, request_for: Any
) -> None:
    home = house(robot(TWO_HOOKS))
    home.executions.script = [HOLD]
    await home.deliver(request_for(), at=home.clock() - timedelta(minutes=16))
    assert (home.webhook.parcels, home.told("delivery.accepted")) == ([], [])
    await home.deliver(request_for(), at=home.clock())
    assert len(home.webhook.parcels) == 2
    assert home.told("delivery.accepted")[0].result.success is True


@pytest.mark.parametrize(("answer", "reason", "after"), [(HOLD, "paused by ann", 2), (AWAY, "isn't there", None)])
async def test_while_it_is_paused_or_nobody_can_say_the_request_comes_again(
    house: Any, robot: Any, request_for: Any, answer: Any, reason: str, after: float | None
) -> None:
    home = house(robot(HOOK))
    home.executions.script = [answer]
    with pytest.raises(Transient, match=reason) as raised:
        await home.deliver(request_for())
    assert raised.value.after == after
    assert await home.deliveries.find("r1") is None
    assert home.webhook.parcels == home.bulletin.facts == []
    await home.deliver(request_for())
    assert home.told("delivery.accepted")[0].result.success is True


async def test_a_stop_in_the_middle_keeps_the_rest_from_being_sent(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWENTY))
    channel = home.channels[DeliveryType.PROCESS] = Interrupted(home, "stop")
    await home.deliver(request_for())
    (accepted,) = home.told("delivery.accepted")
    sent, dropped = accepted.result.results[: channel.sent], accepted.result.results[channel.sent :]
    assert 1 <= channel.sent <= 8
    assert all(result.success for result in sent)
    shown = {(result.success, result.error, result.final, result.attempts) for result in dropped}
    assert shown == {(False, "wrong customer", True, 0)}
    assert len(home.told("delivery.attempted")) == channel.sent
    assert len(home.told("delivery.failed")) == len(dropped)
    assert home.told("delivery.settled")[0].success is False


async def test_a_pause_in_the_middle_puts_off_the_rest(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWENTY))
    channel = home.channels[DeliveryType.PROCESS] = Interrupted(home, "pause")
    await home.deliver(request_for())
    first = list(home.bulletin.facts)
    (accepted,) = home.told("delivery.accepted")
    shown = {(r.success, r.error, r.final, r.attempts) for r in accepted.result.results[channel.sent :]}
    assert shown == {(False, "wrong customer", False, 0)}
    assert home.told("delivery.settled") == home.told("delivery.failed") == []
    home.control("resume")
    channel.said = ()
    while not (await home.stored()).settled:
        home.pass_time(seconds=6)
        await home.retry_what_is_due()
    assert channel.sent == 20
    attempted = home.told("delivery.attempted")
    assert [each.attempt for each in attempted] == [1] * 20
    assert len({each.result.delivery_id for each in attempted}) == 20
    assert home.told("delivery.settled")[0].success is True
    home.bulletin.facts.clear()
    await home.deliver(request_for())  # again: what was said first stays
    assert home.bulletin.facts == first


async def test_a_pause_right_after_the_question_sends_nothing(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    ask = home.executions.may_deliver

    async def paused_meanwhile(team: str, execution_id: str) -> DeliveryPermission:
        answer: DeliveryPermission = await ask(team, execution_id)
        home.control("pause")
        return answer

    home.executions.may_deliver = paused_meanwhile
    with pytest.raises(Transient, match="the execution is paused"):
        await home.deliver(request_for())
    assert home.webhook.parcels == []
    assert await home.deliveries.find("r1") is None


@pytest.mark.parametrize("heard", ["pause", "stop"])
async def test_the_executor_knows_better_than_what_was_heard(
    house: Any, robot: Any, request_for: Any, heard: str
) -> None:
    home = house(robot(HOOK))
    home.control(heard)
    await home.deliver(request_for())
    assert len(home.webhook.parcels) == 1


async def test_a_robot_that_is_gone_or_without_targets_asks_nobody(house: Any, robot: Any, request_for: Any) -> None:
    gone, quiet = house(), house(robot())
    await gone.deliver(request_for())
    await quiet.deliver(request_for())
    assert gone.executions.asked == quiet.executions.asked == []


# Later attempts


async def failed_once(house: Any, robot: Any, request_for: Any, preferences: Any = HOOK) -> Any:
    """A house whose first attempt was in vain, and whose next one is due."""
    home = house(robot(preferences))
    home.webhook.script = [DOWN] * len(preferences.get("preferences", {}).get("webhook", {}).get("targets", [1]))
    await home.deliver(request_for())
    home.pass_time(seconds=7)
    home.executions.asked.clear()
    return home


async def test_the_executor_is_asked_again_before_each_later_attempt(house: Any, robot: Any, request_for: Any) -> None:
    home = await failed_once(house, robot, request_for)
    await home.retry_what_is_due()
    assert home.executions.asked == [("acme", "e1")]
    assert home.told("delivery.settled")[0].success is True


async def test_the_retries_of_a_stopped_execution_are_given_up(house: Any, robot: Any, request_for: Any) -> None:  # F11
    home = await failed_once(house, robot, request_for)
    home.executions.script = [STOP]
    await home.retry_what_is_due()
    assert len(home.webhook.parcels) == 1
    (failed,) = home.told("delivery.failed")
    assert (failed.result.error, failed.result.final, failed.result.attempts) == (STOP.reason, True, 1)
    assert home.told("delivery.settled")[0].success is False


@pytest.mark.parametrize("answer", [HOLD, AWAY])
async def test_retries_wait_without_counting_while_it_is_paused_or_nobody_can_say(
    house: Any, robot: Any, request_for: Any, answer: Any
) -> None:
    home = await failed_once(house, robot, request_for)
    facts = list(home.bulletin.facts)
    for _ in range(9):  # more often than there are attempts
        home.executions.script = [answer]
        assert await home.retry_what_is_due() == 1
        assert await home.retry_what_is_due() == 0
        home.pass_time(seconds=5)
    (target,) = (await home.stored()).targets
    assert (len(target.attempts), len(home.webhook.parcels)) == (1, 1)
    assert home.bulletin.facts == facts
    await home.retry_what_is_due()
    assert home.told("delivery.settled")[0].results[0].attempts == 2


async def test_a_question_that_is_refused_ends_the_retries(house: Any, robot: Any, request_for: Any) -> None:
    home = await failed_once(house, robot, request_for)
    home.executions.script = [Permanent("expected a team")]
    await home.retry_what_is_due()
    assert home.told("delivery.failed")[0].result.error == "expected a team"


@pytest.mark.parametrize(("action", "failed", "left"), [("stop", 1, 0), ("pause", 0, 1)])
async def test_what_is_heard_between_two_attempts_keeps_back_the_second(
    house: Any, robot: Any, request_for: Any, action: str, failed: int, left: int
) -> None:
    home = await failed_once(house, robot, request_for, TWO_HOOKS)
    channel = home.channels[DeliveryType.WEBHOOK] = Interrupted(home, action)
    await home.retry_what_is_due()
    assert channel.sent == 1
    assert len(home.told("delivery.failed")) == failed
    assert [target.next_attempt_at is not None for target in (await home.stored()).targets] == [False, bool(left)]
    assert [each.attempt for each in home.told("delivery.attempted")] == [1, 1, 2]
