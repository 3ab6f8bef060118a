"""Starts of a scheduler with a hundred thousand robots: before their clocks are stored, and afterwards."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import nats
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from bench.polling import until
from rota_common.clock import now
from rota_common.stores.mongo import Database
from rota_common.testing.processes import Processes
from rota_contracts.streams import ROBOTS_BUCKET

SERVICE = "scheduler"
STARTS = 3
KNOWN = '"robots loaded"'


class Starts:
    """Starts of one scheduler, each measured from the execution of its process."""

    def __init__(self, processes: Processes, database: Database, robots: int) -> None:
        self._processes, self._database = processes, database
        self._robots = robots

    async def first(self) -> float:
        """Seconds until every robot's clock is stored, where none was."""
        began = await self._start()
        await until(self._all_stored)
        seconds = perf_counter() - began
        await self._processes.stop_all()
        return seconds

    async def again(self) -> dict[str, float]:
        """Seconds until it is ready, has queued the one robot that is due, and knows all robots; its memory then."""
        await make_due(self._database, 1)
        known = self._processes.log(SERVICE).count(KNOWN)
        began = await self._start()

        async def all_known() -> bool:
            return self._processes.log(SERVICE).count(KNOWN) > known

        async def queued() -> bool:
            return not await due_clocks(self._database)

        async def after(condition: Callable[[], Awaitable[bool]]) -> float:
            await until(condition)
            return perf_counter() - began

        seen = await asyncio.gather(after(all_known), after(self._ready), after(queued))
        figures = dict(zip(("known", "ready", "first_tick"), seen, strict=True))
        return figures | {"rss_mb": resident_mb(self._processes.running[SERVICE].pid)}

    async def measure(self) -> dict[str, Any]:
        """A row without its floor. The last scheduler that was started goes on running."""
        first, seen = await self.first(), list[dict[str, float]]()
        for _ in range(STARTS):
            await self._processes.stop_all()
            seen.append(await self.again())
        medians = {name: round(median(each[name] for each in seen), 2) for name in seen[0]}
        row = {"name": "scheduler_start_100k", "value": medians.pop("known"), "unit": "s", "robots": self._robots}
        return row | medians | {"first_start": round(first, 2)}

    async def _start(self) -> float:
        began = perf_counter()
        await self._processes.start(SERVICE)
        return began

    async def _ready(self) -> bool:
        await self._processes.ready(SERVICE)
        return True

    async def _all_stored(self) -> bool:
        return await self._database["clocks"].estimated_document_count() == self._robots


async def make_due(database: Database, count: int) -> None:
    """So many robots, chosen at random, are due now: a run of theirs was to begin at this very instant."""
    chosen = database["clocks"].aggregate([{"$sample": {"size": count}}, {"$project": {"_id": 1}}])
    names, instant = [each["_id"] async for each in chosen], now()
    due = {"next_run": instant, "check_at": instant}
    changed = await database["clocks"].update_many({"_id": {"$in": names}}, {"$set": due})
    if changed.modified_count != count:
        raise RuntimeError(f"expected {count} robots to be made due, {changed.modified_count} were")


async def due_clocks(database: Database) -> int:
    return await database["clocks"].count_documents({"check_at": {"$lte": now() + timedelta(seconds=1)}})


async def floor_of_reading(nats_url: str, count: int) -> float:
    """Seconds in which a bare client has all definitions out of the bucket, and does nothing with them."""
    client, began = await nats.connect(nats_url), perf_counter()
    latest = ConsumerConfig(deliver_policy=DeliverPolicy.LAST_PER_SUBJECT, ack_policy=AckPolicy.NONE)
    try:
        source = await client.jetstream().pull_subscribe(
            f"$KV.{ROBOTS_BUCKET}.>", stream=f"KV_{ROBOTS_BUCKET}", config=latest
        )
        left = count
        while left:
            left -= len(await source.fetch(min(left, 5000), timeout=10))
        return perf_counter() - began
    finally:
        await client.close()


def resident_mb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (held,) = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(held) // 1024
