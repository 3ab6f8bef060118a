"""The delivery-center's store in memory keeps the same promises as the one in MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delivery_center.adapters.in_memory_deliveries import InMemoryDeliveries
from delivery_center.adapters.mongo_deliveries import MongoDeliveries
from delivery_center.domain.delivery import Delivery, begin, bring_forward, planned_of, published
from delivery_center.ports import DeliveryStore
from rota_common.clock import now
from rota_common.stores.mongo import Mongo
from rota_contracts.messages.text import Text

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
LEASE = timedelta(seconds=40)


@pytest.fixture(params=["memory", "mongo"])
async def deliveries(request: pytest.FixtureRequest) -> AsyncIterator[DeliveryStore]:
    if request.param == "memory":
        yield InMemoryDeliveries()
        return
    connection = Mongo(request.getfixturevalue("mongo_url"), f"{request.getfixturevalue('mongo_prefix')}_delivery")
    store = MongoDeliveries(connection.database)
    await store.prepare()
    yield store
    await connection.client.drop_database(connection.database.name)
    await connection.close()


def delivery(request_id: str = "r1", *, due_at: datetime | None = NOON, member: str = "ann", **fields: Any) -> Delivery:
    target = {
        "delivery_id": f"{request_id}-d1",
        "type": "process",
        "label": "audit",
        "config": {"process": "audit", "args": [2**80, {"$a.b\u0000": None}]},
        "state": "retrying",
        "next_attempt_at": due_at,
        "unpublished": True,
        "attempts": [
            {"at": NOON, "ok": False, "final": False, "latency_ms": 3, "error": "x", "details": {"$reply": [2**80]}}
        ],
    }
    given = {
        "request_id": request_id,
        "content": {
            "summary": "s",
            "body": {"inline": "b"},
            "attachments": [{"title": "t", "file": "__a.b://c"}],
            "result": {"$set": {"a.b": [1, 1.5, None]}},
            "tasks": [{"id": "t1", "description": "d", "status": "completed", "output": {"$x": 1}}],
        },
        "context": {"team_id": "acme", "member_id": member, "execution_id": "e1", "trigger_type": "clock"},
        "mode": "standard",
        "created_at": NOON,
        "accepted_at": NOON + timedelta(milliseconds=7),
        "targets": [target],
        "traceparent": "00-aa-bb-01",
        "due_at": due_at,
    }
    return Delivery.model_validate(given | fields)


def without_body(whole: Delivery) -> Delivery:
    left_out = {"body": Text(inline=""), "result": None, "tasks": []}
    return whole.model_copy(update={"content": whole.content.model_copy(update=left_out)})


async def test_a_delivery_is_found_as_it_was_stored(deliveries: DeliveryStore) -> None:
    assert await deliveries.find("r1") is None
    for made in (delivery(), delivery("r2", due_at=None, targets=[], error="gone")):
        assert await deliveries.insert(made) == made
        assert await deliveries.find(made.request_id) == made


async def test_a_delivery_is_found_by_its_execution_and_only_by_its_team(deliveries: DeliveryStore) -> None:
    context = delivery().context
    made = delivery(context=context.model_copy(update={"score": 0.85}))
    for each in (
        made,
        delivery("r0", created_at=NOON - timedelta(seconds=1)),
        delivery("again", created_at=NOON + timedelta(seconds=1), replay_of="r1"),
        delivery("r2", context=context.model_copy(update={"execution_id": "e2"})),
        delivery("r3", context=context.model_copy(update={"team_id": "other"}), created_at=NOON + timedelta(seconds=1)),
    ):
        await deliveries.insert(each)
    assert await deliveries.find_of("acme", "e1") == without_body(made)
    assert await deliveries.find_of("acme", "e3") is None
    assert await deliveries.find_of("unknown", "e1") is None


async def test_the_reason_of_a_postponed_target_is_stored(deliveries: DeliveryStore) -> None:
    (target,) = delivery().targets
    waiting = target.model_copy(update={"attempts": [], "put_off": "the execution is paused"})
    await deliveries.insert(delivery(targets=[waiting]))
    found = await deliveries.find("r1")
    assert found is not None
    assert found.targets == [waiting]


async def test_the_first_delivery_of_a_request_stays(deliveries: DeliveryStore) -> None:
    first = await deliveries.insert(delivery())
    assert await deliveries.insert(delivery(error="another")) == first
    assert await deliveries.find("r1") == first


async def test_concurrent_inserts_keep_one_delivery_and_return_it(deliveries: DeliveryStore) -> None:
    made = await asyncio.gather(*(deliveries.insert(delivery(error=f"number {n}")) for n in range(8)))
    assert len({each.error for each in made}) == 1


async def test_a_delivery_is_claimed_when_it_is_due_and_by_one_alone(deliveries: DeliveryStore) -> None:
    await deliveries.insert(delivery())
    assert await deliveries.claim_due(NOON - timedelta(seconds=1), LEASE) is None
    claimed = await deliveries.claim_due(NOON, LEASE)
    assert claimed is not None
    assert claimed == delivery(due_at=claimed.due_at, claimed=True, revision=1, targets=delivery().targets)
    fast_clock = now() + timedelta(days=1)
    assert await deliveries.claim_due(fast_clock, LEASE) is None, "claims end by the store's clock alone"


async def test_concurrent_claims_return_different_deliveries(deliveries: DeliveryStore) -> None:
    for number in range(5):
        await deliveries.insert(delivery(f"r{number}"))
    claimed = await asyncio.gather(*(deliveries.claim_due(NOON, LEASE) for _ in range(9)))
    assert sorted(each.request_id for each in claimed if each) == ["r0", "r1", "r2", "r3", "r4"]


async def test_the_longest_due_delivery_is_claimed_first(deliveries: DeliveryStore) -> None:
    for seconds in (2, 1, 3):
        await deliveries.insert(delivery(f"r{seconds}", due_at=NOON + timedelta(seconds=seconds)))
    later = NOON + timedelta(seconds=9)
    claimed = [await deliveries.claim_due(later, LEASE) for _ in range(3)]
    assert [each.request_id for each in claimed if each] == ["r1", "r2", "r3"]


async def test_a_settled_delivery_is_never_due(deliveries: DeliveryStore) -> None:
    await deliveries.insert(delivery(due_at=None))
    assert await deliveries.claim_due(NOON + timedelta(days=99), LEASE) is None
    assert not await deliveries.has_pending("acme", "ann")


async def test_an_expired_claim_is_taken_over_and_fences_its_earlier_owner(deliveries: DeliveryStore) -> None:
    await deliveries.insert(delivery())
    dead = await deliveries.claim_due(NOON, timedelta(0))
    slow_clock = NOON - timedelta(days=1)
    alive = await deliveries.claim_due(slow_clock, LEASE)
    assert dead is not None
    assert alive is not None
    assert alive.revision == dead.revision + 1
    assert not await deliveries.save(published(dead))
    assert await deliveries.find("r1") == alive
    assert await deliveries.save(published(alive))


async def test_saving_writes_targets_and_releases(deliveries: DeliveryStore) -> None:
    await deliveries.insert(delivery())
    claimed = await deliveries.claim_due(NOON, LEASE)
    assert claimed is not None
    soon = NOON + timedelta(seconds=30)
    waiting = claimed.targets[0].model_copy(update={"next_attempt_at": soon})
    assert await deliveries.save(published(claimed.model_copy(update={"targets": [waiting]})))
    found = await deliveries.find("r1")
    assert found is not None
    assert (found.due_at, found.claimed, found.targets[0].unpublished) == (soon, False, False)
    assert found.targets[0].attempts == claimed.targets[0].attempts
    again = await deliveries.claim_due(soon, LEASE)
    assert again is not None
    done = again.model_copy(update={"targets": [waiting.model_copy(update={"next_attempt_at": None})]})
    assert await deliveries.save(published(done))
    assert not await deliveries.has_pending("acme", "ann")


async def test_an_unknown_delivery_is_not_saved(deliveries: DeliveryStore) -> None:
    assert not await deliveries.save(delivery())


async def test_deliveries_of_a_robot_are_claimed_before_they_are_due(deliveries: DeliveryStore) -> None:
    later = NOON + timedelta(days=1)
    await deliveries.insert(delivery("r1", due_at=later))
    await deliveries.insert(delivery("r2", due_at=later, member="bob"))
    await deliveries.insert(delivery("r3", due_at=None))
    dead = await deliveries.claim_of("acme", "ann", timedelta(0))
    assert dead is not None
    assert (dead.request_id, dead.claimed) == ("r1", True)
    taken_over = await deliveries.claim_of("acme", "ann", LEASE)
    assert taken_over is not None
    assert taken_over.request_id == "r1"
    assert await deliveries.claim_of("acme", "ann", LEASE) is None
    assert await deliveries.claim_of("other", "bob", LEASE) is None
    assert await deliveries.has_pending("acme", "ann")


async def test_what_was_begun_is_its_requests_until_that_has_taken_too_long(deliveries: DeliveryStore) -> None:
    await deliveries.insert_begun(begin(delivery(), NOON), LEASE)  # long ago by the clock of the replica
    assert await deliveries.claim_of("acme", "ann", LEASE) is None
    assert await deliveries.claim_due(now(), LEASE) is None
    await deliveries.insert_begun(begin(delivery("r2"), now()), timedelta(0))
    swept = await deliveries.claim_due(now(), LEASE)
    assert swept is not None
    assert swept.request_id == "r2"


async def test_first_outcomes_are_recorded_once_over_what_was_begun(deliveries: DeliveryStore) -> None:
    planned = delivery(targets=[delivery().targets[0].model_copy(update={"attempts": [], "unpublished": False})])
    begun = await deliveries.insert_begun(begin(planned, NOON), timedelta(0))
    stored = await deliveries.find("r1")
    assert stored is not None
    assert stored.model_copy(update={"due_at": begun.due_at}) == begun
    assert (begun.starting, begun.claimed, planned_of(begun).targets[0].attempts) == (True, True, [])
    swept = await deliveries.claim_due(now(), LEASE)
    assert swept is not None
    first = published(delivery(error="a"))
    assert await deliveries.record_first(first) == first
    assert (await deliveries.record_first(published(delivery(error="b")))).error == "a"
    assert not await deliveries.save(swept)
    found = await deliveries.find("r1")
    assert found is not None
    assert (found.starting, found.claimed, found.due_at, found.error) == (False, False, first.due_at, "a")
    assert found.targets == first.targets


async def test_a_sweeper_that_has_taken_over_keeps_its_outcomes(deliveries: DeliveryStore) -> None:
    await deliveries.insert_begun(begin(delivery(), NOON), timedelta(0))
    swept = await deliveries.claim_due(now(), LEASE)
    assert swept is not None
    assert await deliveries.save(swept.model_copy(update={"starting": False}))
    late = await deliveries.record_first(published(delivery(targets=[])))
    assert late.targets == swept.targets


async def test_a_delivery_is_brought_forward_unless_it_was_claimed_meanwhile(deliveries: DeliveryStore) -> None:
    later = NOON + timedelta(days=1)
    made = await deliveries.insert(delivery(due_at=later))
    sooner = bring_forward(made, {"r1-d1"}, NOON)
    assert (sooner.due_at, sooner.targets[0].next_attempt_at) == (NOON, NOON)
    assert await deliveries.bring_forward(sooner)
    assert not await deliveries.bring_forward(sooner)  # it was written since it was read
    claimed = await deliveries.claim_due(NOON, LEASE)
    assert claimed is not None
    assert claimed.targets == sooner.targets
    assert bring_forward(claimed, {"r1-d1"}, NOON) is claimed
    assert not await deliveries.bring_forward(claimed.model_copy(update={"claimed": False}))
    assert await deliveries.save(published(claimed))
