"""Targets that fail for days, with two replicas on real servers: switched off once, listed, and switched on again."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from delivery_center.adapters.mongo_targets import MongoTargets
from delivery_center.domain.target_health import TargetRef
from rota_common.clock import now
from rota_common.stores.mongo import Mongo
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import (
    DELIVERY_ACCEPTED,
    LIST_TARGETS,
    SWITCH_TARGET,
    TARGET_DISABLED,
    TARGET_ENABLED,
)
from rota_contracts.messages.delivery import ChannelResult
from rota_contracts.messages.targets import ListTargets, SwitchTarget, TargetCondition, TargetHealth
from tests.integration.delivery.harness import Harness
from tests.integration.delivery.receivers import HttpReceiver, http_receiver
from tests.integration.delivery.watched_deliveries import Calendar

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replicas refresh without delay."""
    monkeypatch.setattr("delivery_center.app.REFRESH_S", 0.01)


def hook(url: str) -> dict[str, Any]:
    return {"preferences": {"webhook": {"targets": [{"url": url}]}}}


class Sending:
    """Requests to one robot, with the first result of each."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self._count = 0

    async def __call__(self, at_once: int = 1) -> list[ChannelResult]:
        names = [f"r{self._count + number}" for number in range(at_once)]
        self._count += at_once
        await asyncio.gather(*(self._harness.request(name) for name in names))
        accepted = await self._harness.events(DELIVERY_ACCEPTED, self._count)
        results = {event.data.request_id: event.data.result.results[0] for event in accepted}
        return [results[name] for name in names]


async def listed(harness: Harness) -> list[TargetHealth]:
    return list((await harness.ask(LIST_TARGETS, ListTargets(team_id=harness.team))).targets)


async def test_a_target_that_fails_for_days_is_disabled_once_and_sent_to_once_it_is_enabled(
    harness: Harness, receiver: HttpReceiver
) -> None:
    receiver.will_answer(*[500] * 100)
    await harness.robot(hook(receiver.url("/in?key=k")))
    await harness.listen(DELIVERY_ACCEPTED, TARGET_DISABLED, TARGET_ENABLED)
    calendar, send = Calendar(), Sending(harness)
    await asyncio.gather(*(harness.start(clock=calendar, retry_schedule=()) for _ in range(2)))
    began = calendar()
    for _ in range(10):
        (result,) = await send()
        assert (result.success, result.attempts) == (False, 1)
        calendar.skip(hours=12)
    (failing,) = await listed(harness)
    assert (failing.condition, failing.failures, failing.target) == (TargetCondition.FAILING, 10, receiver.url("/in"))
    await send(at_once=8)
    (disabled,) = await harness.events(TARGET_DISABLED)
    assert (disabled.data.target_id, disabled.data.member_id) == (failing.target_id, "ann")
    assert (disabled.data.at - began).days == 5
    assert disabled.data.reason.startswith("it has failed since ")

    asked = len(receiver.got)
    calendar.skip(minutes=20)  # every circuit is half-open
    for result in await send(at_once=8):
        assert (result.success, result.final, result.attempts) == (False, True, 0)
        assert f": rota targets enable {failing.target_id}" in (result.error or "")
    assert len(receiver.got) == asked
    assert len(await harness.in_stream(TARGET_DISABLED)) == 1

    receiver.script.clear()
    enable = SwitchTarget(team_id=harness.team, target_id=failing.target_id, enabled=True)
    (enabled,) = (await harness.ask(SWITCH_TARGET, enable)).targets
    assert enabled.condition is TargetCondition.HEALTHY
    await harness.events(TARGET_ENABLED)
    async with asyncio.timeout(PATIENCE_S):
        while not all(result.success for result in await send(at_once=8)):  # until the other replica has refreshed
            pass
    assert await listed(harness) == []
    assert len(await harness.in_stream(TARGET_ENABLED)) == 1


async def test_gone_disables_only_that_target_at_once(harness: Harness, receiver: HttpReceiver) -> None:
    receiver.will_answer(410)
    async with http_receiver() as other:
        targets = [{"url": receiver.url()}, {"url": other.url()}]
        await harness.robot({"preferences": {"webhook": {"targets": targets}}})
        await harness.listen(DELIVERY_ACCEPTED, TARGET_DISABLED)
        await harness.start()
        await harness.request("r1")
        (disabled,) = await harness.events(TARGET_DISABLED)
        assert disabled.data.reason == "it says it is gone: answered 410"
        await harness.events(DELIVERY_ACCEPTED)
        await harness.request("r2")
        first, second = await harness.events(DELIVERY_ACCEPTED, 2)
        for accepted, error in ((first, "answered 410"), (second, "switched off since")):
            gone, fine = accepted.data.result.results
            assert (gone.final, fine.success) == (True, True)
            assert error in (gone.error or "")
        assert (len(receiver.got), len(other.got)) == (1, 2)


async def test_a_healthy_target_is_disabled_by_hand(harness: Harness, receiver: HttpReceiver) -> None:
    await harness.robot(hook(receiver.url()))
    await harness.listen(DELIVERY_ACCEPTED, TARGET_DISABLED)
    send = Sending(harness)
    await harness.start()
    (sent,) = await send()
    off = SwitchTarget(team_id=harness.team, target_id=sent.target_id, enabled=False, reason="moving house")
    (switched,) = (await harness.ask(SWITCH_TARGET, off)).targets
    assert (switched.condition, switched.target) == (TargetCondition.DISABLED, receiver.url())
    (disabled,) = await harness.events(TARGET_DISABLED)
    assert (disabled.data.reason, disabled.data.failing_since) == ("moving house", None)
    (refused,) = await send()
    assert (refused.final, refused.attempts) == (True, 0)
    other = SwitchTarget(team_id="other", target_id=sent.target_id, enabled=True)
    assert "that results of other were sent to" in (await harness.ask(SWITCH_TARGET, other)).refused


async def test_a_switch_that_a_dead_replica_left_unpublished_is_published_by_another(harness: Harness) -> None:
    connection = Mongo(harness.settings["mongo_url"], f"{harness.settings['mongo_prefix']}_delivery")
    given = {
        "target_id": "t1",
        "team_id": harness.team,
        "member_id": "ann",
        "type": "webhook",
        "label": "https://a.example/1",
    }
    store, long_ago = MongoTargets(connection.database), now() - timedelta(minutes=1)
    await store.record_failure(TargetRef.model_validate(given), "answered 500", long_ago)
    await store.disable(TargetRef.model_validate(given), "gone", long_ago)
    await harness.listen(TARGET_DISABLED)
    await asyncio.gather(*(harness.start() for _ in range(2)))
    (disabled, *_) = await harness.events(TARGET_DISABLED)
    assert (disabled.data.target_id, disabled.data.at, disabled.data.reason) == ("t1", long_ago, "gone")
    (kept,) = await store.all()
    assert kept.disabled_at == long_ago
    assert len(await harness.in_stream(TARGET_DISABLED)) == 1
    await connection.close()
