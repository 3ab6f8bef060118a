"""The unwell targets in memory keep the same promises as those in MongoDB."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from delivery_center.adapters.in_memory_targets import InMemoryTargets
from delivery_center.adapters.mongo_deliveries import MongoDeliveries
from delivery_center.adapters.mongo_targets import MongoTargets
from delivery_center.domain.delivery import Delivery
from delivery_center.domain.target_health import TargetRef
from delivery_center.ports import FailingTargets
from rota_common.errors import Transient
from rota_common.stores.mongo import Mongo

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@dataclass
class Stored:
    targets: FailingTargets
    add_delivery: Callable[[Delivery], Awaitable[object]]


@pytest.fixture(params=["memory", "mongo"])
async def stored(request: pytest.FixtureRequest) -> AsyncIterator[Stored]:
    if request.param == "memory":
        memory = InMemoryTargets()

        async def add(delivery: Delivery) -> None:
            await memory.deliveries.insert(delivery)

        yield Stored(memory, add)
        return
    connection = Mongo(request.getfixturevalue("mongo_url"), f"{request.getfixturevalue('mongo_prefix')}_delivery")
    store = MongoTargets(connection.database)
    await store.prepare()
    yield Stored(store, MongoDeliveries(connection.database).insert)
    await connection.client.drop_database(connection.database.name)
    await connection.close()


@pytest.fixture
def targets(stored: Stored) -> FailingTargets:
    return stored.targets


def target(target_id: str = "t1", *, team: str = "acme", label: str = "https://a.example/1") -> TargetRef:
    given = {"target_id": target_id, "team_id": team, "member_id": "ann", "type": "webhook", "label": label}
    return TargetRef.model_validate(given)


async def test_failures_are_counted_since_the_first(targets: FailingTargets) -> None:
    assert await targets.all() == []
    await targets.record_failure(target(), "answered 500", NOON)
    failing = await targets.record_failure(target(), "$no answer", NOON + HOUR)
    assert (failing.failures, failing.failing_since, failing.last_at) == (2, NOON, NOON + HOUR)
    assert (failing.last_error, failing.label, failing.disabled_at) == ("$no answer", "https://a.example/1", None)
    assert await targets.all() == [failing]


async def test_each_of_many_concurrent_failures_is_counted(targets: FailingTargets) -> None:
    await asyncio.gather(*(targets.record_failure(target(label="$label"), "answered 500", NOON) for _ in range(20)))
    (failing,) = await targets.all()
    assert (failing.failures, failing.label) == (20, "$label")


async def test_the_first_success_removes_the_target(targets: FailingTargets) -> None:
    await targets.record_failure(target(), "answered 500", NOON)
    await targets.record_success("t1", NOON)
    assert await targets.all() == []
    again = await targets.record_failure(target(), "answered 500", NOON + HOUR)
    assert (again.failures, again.failing_since) == (1, NOON + HOUR)


async def test_a_success_from_before_the_last_failure_changes_nothing(targets: FailingTargets) -> None:
    failing = await targets.record_failure(target(), "answered 500", NOON)
    await targets.record_success("t1", NOON - timedelta(milliseconds=1))
    await targets.record_success("t2", NOON)
    assert await targets.all() == [failing]


async def test_one_of_many_concurrent_callers_disables_a_target(targets: FailingTargets) -> None:
    await targets.record_failure(target(), "answered 500", NOON)
    switched = await asyncio.gather(*(targets.disable(target(), f"reason {n}", NOON + HOUR) for n in range(10)))
    (off,) = [each for each in switched if each is not None]
    assert await targets.all() == [off]
    assert (off.disabled_at, off.unpublished, off.failing_since, off.failures) == (NOON + HOUR, True, NOON, 1)


async def test_a_healthy_target_is_disabled_by_one_caller_alone(targets: FailingTargets) -> None:
    switched = await asyncio.gather(*(targets.disable(target(), "by hand", NOON) for _ in range(10)))
    (off,) = [each for each in switched if each is not None]
    assert (off.failures, off.failing_since, off.reason) == (0, None, "by hand")


async def test_disabling_a_failing_target_keeps_its_failures(targets: FailingTargets) -> None:
    failing = await targets.record_failure(target(), "answered 500", NOON)
    await targets.record_failure(target(), "answered 503", NOON + HOUR)
    off = await targets.disable(failing, "by hand", NOON + HOUR)
    assert off is not None
    assert (off.failures, off.last_error, off.disabled_at) == (2, "answered 503", NOON + HOUR)


async def test_neither_a_success_nor_a_failure_enables_a_disabled_target(targets: FailingTargets) -> None:
    await targets.record_failure(target(), "answered 500", NOON)
    await targets.disable(target(), "gone", NOON)
    await targets.record_success("t1", NOON + HOUR)
    late = await targets.record_failure(target(), "answered 500", NOON + HOUR)
    assert (late.disabled_at, late.failures) == (NOON, 2)


async def test_enabling_clears_the_failures_and_publishing_removes_the_target(targets: FailingTargets) -> None:
    await targets.record_failure(target(), "answered 500", NOON)
    off = await targets.disable(target(), "gone", NOON)
    assert off is not None
    await targets.mark_published(off)
    (kept,) = await targets.all()
    assert (kept.disabled_at, kept.unpublished) == (NOON, False)
    assert await targets.enable("other", "t1", NOON + HOUR) is None
    on = await targets.enable("acme", "t1", NOON + HOUR)
    assert on is not None
    assert (on.disabled_at, on.failures, on.enabled_at, on.unpublished) == (None, 0, NOON + HOUR, True)
    assert await targets.enable("acme", "t1", NOON + HOUR) is None
    await targets.mark_published(on)
    assert await targets.all() == []


async def test_failures_since_a_target_was_enabled_survive_its_publication(targets: FailingTargets) -> None:
    await targets.disable(target(), "gone", NOON)
    on = await targets.enable("acme", "t1", NOON)
    assert on is not None
    await targets.record_failure(target(), "answered 500", NOON + HOUR)
    await targets.record_success("t1", NOON + 2 * HOUR)  # an unpublished switch is not lost
    (kept,) = await targets.all()
    assert kept.unpublished
    await targets.mark_published(on)
    (kept,) = await targets.all()
    assert (kept.unpublished, kept.enabled_at, kept.failures) == (False, None, 1)


async def test_publishing_an_older_switch_leaves_a_newer_one_unpublished(targets: FailingTargets) -> None:
    off = await targets.disable(target(), "gone", NOON)
    assert off is not None
    await targets.enable("acme", "t1", NOON + HOUR)
    await targets.mark_published(off)
    (kept,) = await targets.all()
    assert (kept.unpublished, kept.enabled_at) == (True, NOON + HOUR)


async def test_targets_are_ordered_by_label_and_belong_to_a_team(targets: FailingTargets) -> None:
    for number, (team, label) in enumerate([("acme", "b"), ("acme", "a"), ("other", "a")]):
        await targets.record_failure(target(f"t{number}", team=team, label=label), "x", NOON)
    assert [target.target_id for target in await targets.of("acme")] == ["t1", "t0"]
    assert len(await targets.all()) == 3


async def test_a_delivered_target_is_found_in_the_newest_delivery(stored: Stored) -> None:
    def delivery(number: int, member: str, team: str = "acme") -> Delivery:
        where = {"type": "webhook", "label": "https://a.example/1", "config": {}}
        context = {"team_id": team, "member_id": member, "execution_id": "e1", "trigger_type": "clock"}
        given = {
            "request_id": f"r{number}",
            "content": {"summary": "s", "body": {"inline": "b"}},
            "context": context,
            "mode": "standard",
            "created_at": NOON + number * HOUR,
            "accepted_at": NOON,
            "targets": [where | {"delivery_id": f"d{number}-{id}", "target_id": id} for id in ("t0", "t1")],
        }
        return Delivery.model_validate(given)

    for number, member in ((1, "ann"), (3, "cem"), (2, "bob")):
        await stored.add_delivery(delivery(number, member))
    assert await stored.targets.find_delivered("acme", "t1") == target().model_copy(update={"member_id": "cem"})
    assert await stored.targets.find_delivered("acme", "t2") is None
    assert await stored.targets.find_delivered("other", "t1") is None


async def test_an_unavailable_store_raises_transient() -> None:
    connection = Mongo("mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=50", "nowhere")
    store = MongoTargets(connection.database)
    for asking in (
        store.all(),
        store.record_failure(target(), "x", NOON),
        store.record_success("t1", NOON),
        store.find_delivered("acme", "t1"),
    ):
        with pytest.raises(Transient, match="read the targets"):
            await asking
    await connection.close()


async def test_a_requested_retry_is_noted_with_the_teams_failing_targets(targets: FailingTargets) -> None:
    for one in (target(), target("t2"), target("t3", team="other")):
        await targets.record_failure(one, "answered 500", NOON)
    await targets.request_retry("acme", ["t1", "t3", "healthy"], NOON + HOUR)
    asked = {each.target_id: each.retry_at for each in await targets.all()}
    assert asked == {"t1": NOON + HOUR, "t2": None, "t3": None}
