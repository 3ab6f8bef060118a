"""The cost of a tick: with one robot in a hundred due, with none, and with as many due among ever more robots."""

from collections.abc import Sequence
from datetime import timedelta
from statistics import median
from time import perf_counter
from typing import Any

from pymongo import UpdateOne

from bench.polling import until
from bench.scheduler_start import due_clocks, make_due
from rota_common.bus.connection import Bus
from rota_common.bus.publishing import Publish
from rota_common.bus.room import BusRoom, NatsUsage
from rota_common.bus.subject_log import SubjectLog
from rota_common.clock import now
from rota_common.stores.mongo import Database, Document, Mongo
from rota_contracts.catalog import EXECUTION_REQUESTED
from scheduler.adapters.mongo_clocks import MongoClocks
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.clocks.tick import Tick
from scheduler.event_publisher import EventPublisher
from scheduler.settings import Settings


class Ticks:
    """The tick of the scheduler on a database of its own, in this process. It publishes nothing: nothing is missed."""

    def __init__(self, mongo_url: str, name: str, settings: Settings) -> None:
        self._mongo = Mongo(mongo_url, name)
        self.database: Database = self._mongo.database
        self._clocks, self._queue = MongoClocks(self.database), MongoQueue(self._mongo, lease=settings.lease)
        bus = Bus(settings.nats_url, name="scheduler")
        publish = Publish(bus, source="scheduler", clock=now)
        requests = SubjectLog(bus, EXECUTION_REQUESTED.stream or "")
        self.tick = Tick(
            clocks=self._clocks,
            queue=self._queue,
            publisher=EventPublisher(publish=publish, stream=requests, clock=now),
            room=BusRoom(usage=NatsUsage(bus)),
            clock=now,
            wake=lambda: None,
            lag=lambda: 0,
        )

    async def prepare(self) -> None:
        await self._clocks.prepare()
        await self._queue.prepare()

    async def close(self) -> None:
        await self._mongo.close()

    async def due(self, count: int) -> float:
        """Seconds of a tick that has so many robots to queue."""
        await make_due(self.database, count)
        there, began = await self._waiting(), perf_counter()
        found = await self.tick.queue_due()
        seconds = perf_counter() - began
        queued, left = await self._waiting() - there, await due_clocks(self.database)
        if (found, queued, left) != (count, count, 0):
            raise RuntimeError(f"of {count} robots {found} were found due and {queued} queued, {left} are due still")
        return seconds

    async def idle(self) -> float:
        """Seconds of a tick that finds nothing."""
        began = perf_counter()
        if found := await self.tick.queue_due():
            raise RuntimeError(f"expected an idle tick, {found} robots were due")
        return perf_counter() - began

    async def _waiting(self) -> int:
        return await self.database["queue"].count_documents({"state": "due"})


class Bare:
    """The floor: the same reads and writes by the driver alone, on collections of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clocks, self._queue = database["bare_clocks"], database["bare_queue"]
        self._model: Document = {}
        self._rounds = 0

    async def prepare(self, sample: Document) -> None:
        """`sample`: a document of the queue, as large as all of them are to be."""
        self._model = sample
        await copy(self._database, self._database, 10**9, "bare_clocks")
        await self._clocks.create_index("check_at", sparse=True)
        await self._queue.create_index("due_at", sparse=True)

    async def due(self, count: int) -> float:
        names = [each["_id"] async for each in self._clocks.aggregate([{"$sample": {"size": count}}])]
        await self._clocks.update_many({"_id": {"$in": names}}, {"$set": {"check_at": now()}})
        self._rounds += 1
        began, later = perf_counter(), now() + timedelta(days=1)
        found = await self._clocks.find({"check_at": {"$lte": now()}}).to_list(None)
        entries = [self._model | {"_id": f"{each['_id']}/{self._rounds}", "due_at": now()} for each in found]
        await self._queue.insert_many(entries, ordered=False)
        moved = [UpdateOne({"_id": each["_id"]}, {"$set": {"check_at": later}}) for each in found]
        await self._clocks.bulk_write(moved, ordered=False)
        return perf_counter() - began

    async def idle(self) -> float:
        began = perf_counter()
        await self._clocks.find({"check_at": {"$lte": now()}}).to_list(None)
        return perf_counter() - began


async def copy(source: Database, target: Database, count: int, name: str = "clocks") -> None:
    """So many of the clocks into another collection."""
    where = {"$out": {"db": target.name, "coll": name}}
    await source["clocks"].aggregate([{"$limit": count}, where]).to_list(None)


async def rows(ticks: Ticks, fewer: Sequence[tuple[int, Ticks]], due: int, rounds: int) -> list[dict[str, Any]]:
    """The figures of the tick, beside the floor by turns."""
    await ticks.due(due)  # to warm up
    bare, robots = Bare(ticks.database), await ticks.database["clocks"].estimated_document_count()
    sample = await ticks.database["queue"].find_one({"state": "due"})
    await bare.prepare(sample or {})
    busy, floor, idle, floor_idle = list[float](), list[float](), list[float](), list[float]()
    for _ in range(rounds):
        floor.append(await bare.due(due))
        busy.append(await ticks.due(due))
        for _ in range(10):
            floor_idle.append(await bare.idle())
            idle.append(await ticks.idle())
    sizes, few = {**dict(fewer), robots: ticks}, due // 10
    seen: dict[int, list[float]] = {count: [] for count in sizes}
    for _ in range(2 * rounds):
        for count, each in sizes.items():
            seen[count].append(await each.due(few))
    by_robots = {str(count): round(median(values) * 1000, 1) for count, values in seen.items()}
    full = row("tick_100k_1pct", median(busy), "s", median(floor)) | {"robots": robots, "due": due}
    return [
        full | {f"ms_of_{few}_due_by_robots": by_robots},
        row("tick_idle", median(idle) * 1000, "ms", median(floor_idle) * 1000),
    ]


def row(name: str, value: float, unit: str, floor: float) -> dict[str, Any]:
    beside = {"name": name, "value": round(value, 3), "unit": unit, "floor": round(floor, 3)}
    return beside | {"ratio": round(value / floor, 2)}


async def decided(database: Database, due: int) -> float:
    """Seconds in which a running scheduler finds as many robots due, queues them and decides about each."""
    before = await database["queue"].count_documents({"priority": {"$exists": True}})
    await make_due(database, due)
    began = perf_counter()

    async def all_decided() -> bool:
        return await database["queue"].count_documents({"priority": {"$exists": True}}) - before >= due

    await until(all_decided, look=0.05)
    return perf_counter() - began
