"""How a delivery has fared, as it is read."""

from datetime import timedelta
from typing import Any

from delivery_center.delivery_log.read_delivery import read_delivery
from delivery_center.ports import Rejected, TriedInVain
from rota_contracts.messages.delivery import DeliveryPermission, DeliveryReply, Permission, ReadDelivery

TWO_HOOKS = {"preferences": {"webhook": {"targets": [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}]}}}


async def read(home: Any, team: str = "acme", execution_id: str = "e1") -> DeliveryReply:
    return await read_delivery(ReadDelivery(team_id=team, execution_id=execution_id), home.deliveries)


async def test_every_target_is_shown_with_its_attempts_and_the_next(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    home.webhook.script = [TriedInVain("answered 500"), Rejected("answered 410"), TriedInVain("answered 503")]
    await home.deliver(request_for())
    home.pass_time(seconds=7)
    await home.retry_what_is_due()
    found = await read(home)
    assert (found.request_id, found.settled, found.error) == ("r1", False, None)
    assert found.accepted_at == home.now - timedelta(seconds=7)
    waiting, gone = found.targets
    assert [(each.ok, each.error) for each in waiting.attempts] == [(False, "answered 500"), (False, "answered 503")]
    assert [each.at for each in waiting.attempts] == [found.accepted_at, home.now]
    assert waiting.next_attempt_at is not None
    assert waiting.next_attempt_at > home.now
    assert (waiting.result.final, waiting.result.attempts) == (False, 2)
    assert (gone.result.final, gone.result.error, gone.next_attempt_at) == (True, "answered 410", None)
    home.pass_time(seconds=60)
    await home.retry_what_is_due()
    assert (await read(home)).settled


async def test_why_nothing_was_sent_is_shown(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    home.executions.script = [DeliveryPermission(leave=Permission.DENY, reason="stopped by ann")]
    await home.deliver(request_for())
    found = await read(home)
    assert (found.settled, found.error) == (True, "stopped by ann")
    assert [(each.result.error, each.attempts) for each in found.targets] == [("stopped by ann", [])] * 2


async def test_another_team_and_another_execution_have_none(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    await home.deliver(request_for())
    assert await read(home, team="other") == await read(home, execution_id="e2") == DeliveryReply()


async def test_a_delivery_is_read_by_its_own_id_and_only_by_its_team(house: Any, robot: Any, request_for: Any) -> None:
    home = house(robot(TWO_HOOKS))
    home.webhook.script = [Rejected("answered 410", details={"status": 410, "body": "gone"})]
    await home.deliver(request_for())
    found = await read_delivery(ReadDelivery(team_id="acme", request_id="r1"), home.deliveries)
    assert (found.request_id, found.summary, found.replay_of) == ("r1", "All done.", None)
    assert found.context == request_for().context
    assert found.targets[0].attempts[0].details == {"status": 410, "body": "gone"}
    for team, request_id in (("other", "r1"), ("acme", "r2")):
        nothing = await read_delivery(ReadDelivery(team_id=team, request_id=request_id), home.deliveries)
        assert nothing == DeliveryReply()
