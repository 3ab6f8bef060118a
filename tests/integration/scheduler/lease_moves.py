"""Replicas of the scheduler, among which the dispatcher's lease is made to move."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any

from rota_common.runtime.serving import App
from rota_common.stores.mongo import Mongo
from rota_common.testing.crash import crash
from scheduler.adapters.mongo_queue import LEASE
from scheduler.dispatching.dispatcher import Dispatcher
from scheduler.domain.batch import Batch
from tests.integration.scheduler.harness import Harness

SLEEP_S = 0.1
"""Enough for the other to decide a few times."""


def dispatcher(app: App) -> Dispatcher:
    run: Any = app.service._loops["dispatch"].run
    found: Dispatcher = run.__self__
    return found


class Replicas:
    """`crashes` and `robberies`: how often the lease's holder was killed, and how often it lost it in its sleep."""

    def __init__(self, harness: Harness, mongo: Mongo, random: Random, *, count: int, **settings: Any) -> None:
        self._harness, self._random = harness, random
        self._count, self._settings = count, settings
        self._leases = mongo.database["leases"]
        self.apps: list[App] = []
        self.crashes = self.robberies = 0
        self._over = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Replicas"]:
        self.apps = [await self._harness.start(**self._settings) for _ in range(self._count)]
        try:
            yield self
        finally:
            await asyncio.gather(*(app.service.stop(2) for app in self.apps))

    @contextlib.asynccontextmanager
    async def moving(self, pause: float, decided: Callable[[], int]) -> AsyncIterator[None]:
        """One dispatches for about `pause` seconds, and until it has `decided` something, which takes longer on a busy
        machine; then another has to, and so on."""
        async with asyncio.TaskGroup() as group:  # if the moves fail, so does what goes on meanwhile
            group.create_task(self._move(pause, decided))
            try:
                yield
            finally:
                self._over = True

    async def _move(self, pause: float, decided: Callable[[], int]) -> None:
        while not self._over:
            for each in (self._crash, self._rob):
                await self._holder()
                before = decided()
                await asyncio.sleep(pause * self._random.uniform(0.5, 1.5))
                while decided() == before and not self._over:
                    await asyncio.sleep(0.02)
                await each()

    async def _crash(self) -> None:
        app = await self._holder()
        self.apps.remove(app)
        await crash(app.service)
        self.crashes += 1
        self.apps.append(await self._harness.start(**self._settings))

    async def _rob(self) -> None:
        """The holder sleeps through its lease when it has decided and not yet written; another has taken over by the
        time at which it wakes up and writes."""
        holder = await self._holder()
        other = dispatcher(self._random.choice([app for app in self.apps if app is not holder]))
        queue: Any = dispatcher(holder).queue
        write, acquire, woken = queue.write, queue.acquire, asyncio.Event()

        async def acquire_late(owner: str) -> int | None:
            await woken.wait()
            found: int | None = await acquire(owner)
            return found

        async def late(batch: Batch, *, owner: str, epoch: int) -> None:
            queue.write, queue.acquire = write, acquire_late
            await self._give_lease(other)
            with contextlib.suppress(TimeoutError):  # it may have stopped meanwhile, or lost the lease itself
                await asyncio.wait_for(other.signals.has_lease.wait(), 2)
            await asyncio.sleep(SLEEP_S)
            woken.set()
            queue.acquire = acquire
            await write(batch, owner=owner, epoch=epoch)

        queue.write = late
        while not woken.is_set() and not self._over:  # at the end there may be nothing more to write
            await asyncio.sleep(0.02)
            if queue.write is late and not dispatcher(holder).signals.has_lease.is_set():
                queue.write = write  # it has lost the lease by itself: it may be long until it writes again
                return
        self.robberies += woken.is_set()

    async def _give_lease(self, other: Dispatcher) -> None:
        taken = {"epoch": {"$add": ["$epoch", 1]}, "owner": other.owner}
        lease = {"until": {"$add": ["$$NOW", int(self._settings["lease"] * 1000)]}}
        await self._leases.update_one({"_id": LEASE}, [{"$set": taken | lease}])

    async def _holder(self) -> App:
        while True:
            for app in self.apps:
                if dispatcher(app).signals.has_lease.is_set():
                    return app
            await asyncio.sleep(0.02)
