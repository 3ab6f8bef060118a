"""People look at deliveries in the same way whether they are in memory or in MongoDB; how long MongoDB keeps them."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from delivery_center.adapters.mongo_counts import MongoCounts
from delivery_center.adapters.mongo_deliveries import MongoDeliveries, due_or_ended
from delivery_center.domain.delivery import Delivery, published
from delivery_center.domain.page_cursor import cursor_of
from delivery_center.ports import DeliveryStore
from rota_common.stores.mongo import Mongo
from rota_contracts.messages.delivery_log import DeliveryState, ListDeliveries, ReplayDeliveries, TargetState
from tests.conformance.test_delivery_ports import LEASE, NOON, deliveries, delivery, without_body

__all__ = ["deliveries"]


@pytest.fixture
async def mongo(mongo_url: str, mongo_prefix: str) -> AsyncIterator[Mongo]:
    connection = Mongo(mongo_url, f"{mongo_prefix}_delivery")
    yield connection
    await connection.client.drop_database(connection.database.name)
    await connection.close()


def one(request_id: str, *states: str, minute: int = 0, **fields: Any) -> Delivery:
    """A delivery of 12:`minute` whose targets are t0, t1 … in these states."""
    due = NOON + timedelta(hours=1)
    targets = [
        {"delivery_id": f"{request_id}-{n}", "target_id": f"t{n}", "type": "process", "label": "audit", "config": {}}
        | {"state": state, "next_attempt_at": due if state == "retrying" else None}
        for n, state in enumerate(states)
    ]
    at = NOON + timedelta(minutes=minute)
    given = {"created_at": at, "accepted_at": at, "targets": targets} | fields
    return delivery(request_id, due_at=due if "retrying" in states else None, **given)


def asking(**fields: Any) -> ListDeliveries:
    return ListDeliveries.model_validate({"team_id": "acme"} | fields)


def replaying(**fields: Any) -> ReplayDeliveries:
    return ReplayDeliveries.model_validate({"team_id": "acme", "replay_id": "p1"} | fields)


async def listed(store: DeliveryStore, **fields: Any) -> list[str]:
    return [each.request_id for each in await store.page(asking(**fields), after=None)]


async def replayable(store: DeliveryStore, **fields: Any) -> list[str]:
    return [each.request_id for each in await store.replayable(replaying(**fields), after=None)]


async def test_deliveries_are_listed_newest_first_without_their_bodies(deliveries: DeliveryStore) -> None:
    made = [one("a", "delivered", minute=1), one("b", "failed", minute=3), one("c", "delivered", minute=2)]
    for each in made:
        await deliveries.insert(each)
    found = await deliveries.page(asking(), after=None)
    assert found == [without_body(made[1]), without_body(made[2]), without_body(made[0])]


async def test_each_page_continues_after_the_previous_one_even_within_an_instant(deliveries: DeliveryStore) -> None:
    for name in "abcde":
        await deliveries.insert(one(name, "failed", minute=1 if name < "d" else 2))
    pages: list[list[str]] = []
    after = None
    while page := await deliveries.page(asking(limit=2), after=after):
        pages.append([each.request_id for each in page])
        after = cursor_of(page[-1])
    assert pages == [["e", "d"], ["c", "b"], ["a"]]
    first = await deliveries.replayable(replaying(limit=3), after=None)
    rest = await deliveries.replayable(replaying(limit=3), after=cursor_of(first[-1]))
    assert [each.request_id for each in (*first, *rest)] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["new", "old"]),
        ({"team_id": "other"}, ["theirs"]),
        ({"member_id": "bob"}, ["new"]),
        ({"execution_id": "e9"}, ["new"]),
        ({"target_id": "t1"}, ["old"]),
        ({"since": NOON + timedelta(minutes=1)}, ["new"]),
        ({"until": NOON + timedelta(minutes=1)}, ["old"]),
        ({"state": "failed"}, ["old"]),
        ({"state": "failed", "member_id": "bob"}, []),
    ],
)
async def test_a_filter_leaves_what_fits(
    deliveries: DeliveryStore, fields: dict[str, Any], expected: list[str]
) -> None:
    context = one("x").context
    await deliveries.insert(one("old", "failed", "delivered"))
    by_bob = context.model_copy(update={"member_id": "bob", "execution_id": "e9"})
    await deliveries.insert(one("new", "delivered", minute=1, context=by_bob))
    await deliveries.insert(one("theirs", "delivered", context=context.model_copy(update={"team_id": "other"})))
    assert await listed(deliveries, **fields) == expected


async def test_a_delivery_is_found_by_its_state_as_that_changes(deliveries: DeliveryStore) -> None:
    await deliveries.insert(one("nowhere", minute=1, error="there is no robot ann"))
    await deliveries.insert(one("reached", "delivered"))
    await deliveries.insert(one("r1", "retrying"))
    assert await listed(deliveries, state=DeliveryState.FAILED) == ["nowhere"]
    assert await listed(deliveries, state=DeliveryState.DELIVERED) == ["reached"]
    assert await listed(deliveries, state=DeliveryState.PENDING) == ["r1"]
    claimed = await deliveries.claim_due(NOON + LEASE * 100, LEASE)
    assert claimed is not None
    given_up = claimed.targets[0].model_copy(update={"state": TargetState.FAILED, "next_attempt_at": None})
    assert await deliveries.save(published(claimed.model_copy(update={"targets": [given_up]})))
    assert await listed(deliveries, state=DeliveryState.PENDING) == []
    assert await listed(deliveries, state=DeliveryState.FAILED) == ["nowhere", "r1"]


async def test_only_deliveries_with_final_targets_are_replayable(deliveries: DeliveryStore) -> None:
    for each in (
        one("failed", "failed"),
        one("partly", "failed", "retrying", minute=1),
        one("reached", "delivered", minute=2),
        one("tried", "retrying", minute=3),
        one("recorded", "failed", minute=4, mode="dryrun"),
        one("again", "failed", minute=5, replay_of="failed"),
        one("nowhere", minute=6, error="there is no robot ann"),
    ):
        await deliveries.insert(each)
    assert await replayable(deliveries) == ["failed", "partly"]
    assert await replayable(deliveries, targets="all") == ["failed", "partly", "reached"]
    assert await replayable(deliveries, targets="all", target_id="t0") == ["failed", "partly", "reached"]
    assert await replayable(deliveries, target_id="t1") == []
    assert await replayable(deliveries, since=NOON + timedelta(seconds=1)) == ["partly"]
    assert await replayable(deliveries, request_id="again") == ["again"]
    assert await replayable(deliveries, request_id="again", team_id="other") == []
    (whole, _) = await deliveries.replayable(replaying(), after=None)
    assert whole == one("failed", "failed")


async def test_the_replays_of_some_deliveries_are_found(deliveries: DeliveryStore) -> None:
    for each in (one("a", "failed"), one("b", "failed"), one("x", "failed", replay_of="a")):
        await deliveries.insert(each)
    assert await deliveries.replays_of(["a", "b"]) == [without_body(one("x", "failed", replay_of="a"))]
    assert await deliveries.replays_of(["b"]) == []
    assert await deliveries.replays_of([]) == []


async def expiry(mongo: Mongo) -> int | None:
    indexes = await mongo.database["deliveries"].index_information()
    return indexes["kept"].get("expireAfterSeconds")


async def over_at(mongo: Mongo, request_id: str) -> datetime | None:
    document = await mongo.database["deliveries"].find_one({"_id": request_id})
    assert document is not None
    found: datetime | None = document.get("over_at")
    return found


async def test_a_delivery_is_kept_for_some_days_after_its_last_attempt(mongo: Mongo) -> None:
    store = MongoDeliveries(mongo.database)
    await store.prepare()
    assert await expiry(mongo) == 90 * 86400
    await MongoDeliveries(mongo.database, keep=timedelta(days=7)).prepare()
    assert await expiry(mongo) == 7 * 86400
    await store.insert(delivery("over", due_at=None, targets=[]))
    await store.insert(delivery("tried"))
    assert await over_at(mongo, "over") == delivery().accepted_at
    assert await over_at(mongo, "tried") is None
    claimed = await store.claim_due(NOON, LEASE)
    assert claimed is not None
    last = claimed.targets[0].attempts[0].model_copy(update={"at": NOON + timedelta(days=3), "ok": True})
    end = {"state": TargetState.DELIVERED, "next_attempt_at": None, "attempts": [*claimed.targets[0].attempts, last]}
    saved = claimed.model_copy(update={"targets": [claimed.targets[0].model_copy(update=end)]})
    assert await store.save(saved)
    assert await over_at(mongo, "tried") is None, "not published yet"
    assert await store.save(published(saved))
    assert await over_at(mongo, "tried") == NOON + timedelta(days=3)


async def test_a_claim_looks_at_no_delivery_that_is_not_due(mongo: Mongo) -> None:
    store = MongoDeliveries(mongo.database)
    await store.prepare()
    for number in range(50):
        await store.insert(delivery(f"r{number}", due_at=NOON + timedelta(days=1 + number)))
    command = {"findAndModify": "deliveries", "query": due_or_ended(NOON), "sort": {"due_at": 1}, "remove": True}
    plan = await mongo.database.command("explain", command, verbosity="executionStats")
    assert plan["executionStats"]["totalKeysExamined"] <= 2
    assert "'SORT'" not in str(plan["queryPlanner"]["winningPlan"])


async def test_the_highest_count_of_a_subject_is_kept(mongo: Mongo) -> None:
    counts = MongoCounts(mongo.database)
    assert await counts.last("a") == 0
    await asyncio.gather(*(counts.keep({"a": n, "b": 1}) for n in (3, 7, 5)))
    assert [await counts.last(name) for name in "abc"] == [7, 1, 0]
