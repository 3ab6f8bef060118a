"""Triggers that were rejected, and executions that failed, in memory and in MongoDB: listed for retries."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from rota_common.clock import now
from rota_common.page_cursor import PageCursor
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_trigger
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.retry import ListRetryable, Retryable, RetryableStatus
from rota_contracts.messages.trigger import RejectReason
from scheduler.adapters.in_memory_ended_triggers import InMemoryEndedTriggers
from scheduler.adapters.in_memory_queue import InMemoryQueue
from scheduler.adapters.mongo_ended_triggers import MongoEndedTriggers
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.domain.batch import Batch, Cancelled, Decided, Ended
from scheduler.domain.queue import Refusal
from scheduler.ports import EndedTriggers, Queue
from tests.conformance.dispatcher_lease import acquired
from tests.conformance.test_scheduler_robot_queues import decided

OFF = Refusal(RejectReason.TRIGGER_DISABLED, "event triggers are switched off")
STOPPED = Refusal(RejectReason.STOPPED, "stopped by a person")


@dataclass(frozen=True)
class Stores:
    queue: Queue
    ended: EndedTriggers

    async def write(self, minute: int, **batch: Any) -> None:
        epoch = await acquired(self.queue)
        await self.queue.write(Batch(at=minutes(minute), **batch), owner="first", epoch=epoch)

    async def listed(self, *, after: PageCursor | None = None, **wanted: Any) -> list[Retryable]:
        return await self.ended.retryable(ListRetryable(team_id=TEAM, **wanted), after=after)

    async def names(self, **wanted: Any) -> list[str]:
        return [NAMES[each.execution_id] for each in await self.listed(**wanted)]


NAMES = {execution_id(name): name for name in ("r1", "r2", "f1", "f2", "ok", "gone", "stopped", "runs", "bob", "far")}


def minutes(count: int) -> datetime:
    return NOON + timedelta(minutes=count)


def rejected(name: str, **fields: Any) -> Decided:
    return Decided(a_trigger(name, **fields), "", OFF)


@pytest.fixture(params=["memory", "mongo"])
async def stores(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Stores]:
    if request.param == "memory":
        queue = InMemoryQueue(lease=60, clock=now)
        yield Stores(queue, InMemoryEndedTriggers(queue))
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_scheduler")
    made = MongoQueue(mongo, lease=60), MongoEndedTriggers(mongo.database)
    for store in (*made, *made):
        await store.prepare()
    yield Stores(*made)
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()


@pytest.fixture
async def ended(stores: Stores) -> Stores:
    """r1, f1, r2 and f2 ended a minute apart, bob's with r1; the others can't be retried by a filter."""
    live = ("f1", "f2", "ok", "gone", "stopped", "runs")
    await stores.write(0, decided=[decided(name, admitted=True) for name in live])
    await stores.write(1, decided=[rejected("r1"), rejected("bob", member_id="bob"), rejected("far", team_id="globex")])
    done = {"f1": ExecStatus.FAILED, "ok": ExecStatus.COMPLETED, "gone": ExecStatus.CANCELLED}
    await stores.write(2, ended=[Ended(execution_id(name), status) for name, status in done.items()])
    await stores.write(3, decided=[rejected("r2")], cancelled=[Cancelled(execution_id("stopped"), STOPPED)])
    await stores.write(4, ended=[Ended(execution_id("f2"), ExecStatus.FAILED)])
    return stores


async def test_rejected_and_failed_ones_are_listed_by_their_end(ended: Stores) -> None:  # DEC-48
    assert await ended.names(member_id=MEMBER) == ["r1", "f1", "r2", "f2"]
    assert set(await ended.names()) == {"r1", "f1", "r2", "f2", "bob"}
    assert await ended.names(status=RetryableStatus.FAILED) == ["f1", "f2"]
    assert await ended.names(status=RetryableStatus.REJECTED, member_id="bob") == ["bob"]
    assert await ended.names(since=minutes(2), until=minutes(4)) == ["f1", "r2"]
    first, second = (await ended.listed(member_id=MEMBER))[:2]
    about = {"member_id": MEMBER, "trigger_type": "event"}
    assert first == Retryable(
        **about,
        execution_id=execution_id("r1"),
        status=RetryableStatus.REJECTED,
        ended_at=minutes(1),
        reason=OFF.reason,
        message=OFF.message,
    )
    assert second == Retryable(
        **about | {"trigger_type": "human"},
        execution_id=execution_id("f1"),
        status=RetryableStatus.FAILED,
        ended_at=minutes(2),
    )


async def test_pages_hold_each_once_also_those_of_one_instant(ended: Stores) -> None:  # DEC-48
    everything = await ended.listed()
    paged = list[Retryable]()
    while page := await ended.listed(
        limit=1, after=PageCursor(paged[-1].ended_at, paged[-1].execution_id) if paged else None
    ):
        paged += page
    assert paged == everything
