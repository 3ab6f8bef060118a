"""Sees to it that each database is read by exactly one replica: takes those that nobody reads, gives up those that are
gone or changed."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from random import Random

from rota_common.errors import Transient
from rota_common.runtime import metrics
from rota_common.runtime.logs import logger
from trigger_gateway.databases.change_streams import Claim, Readings, key_of
from trigger_gateway.ports import Sources
from trigger_gateway.sources.source import Source

LOOK_EVERY_S = 1.0
CANCEL_AGAIN_S = 2.0
AT_MOST = 100
"""Databases that one replica reads: each takes connections and memory of its own."""

CLAIMS_A_LOOK = 10
"""So that replicas that begin together share them."""

Read = Callable[[Source, Claim], Awaitable[None]]


@dataclass(frozen=True)
class _Running:
    source: Source
    claim: Claim
    task: asyncio.Task[None]


class WatchDatabases:
    """`read` reads one until it is cancelled or loses its claim. `owner` names this replica."""

    def __init__(
        self, sources: Sources, readings: Readings, read: Read, random: Random, *, owner: str, service: str
    ) -> None:
        self._sources, self._readings, self._read = sources, readings, read
        self._random, self._owner = random, owner
        self._running: dict[str, _Running] = {}
        self._log = logger(service=service)

    async def loop(self) -> None:
        """For as long as the service runs; on its way out it releases what it has."""
        try:
            while True:
                try:
                    await self.look()
                except Transient as error:
                    self._log.warning("can't look for databases", reason=str(error))
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            await self._give_up(list(self._running))

    async def look(self) -> None:
        """Once: keep what is ours, drop what isn't wanted any more, take what is free."""
        wanted = {key_of(source): source for source in await self._sources.databases()}
        held = await self._readings.renew(self._owner)
        await self._give_up([key for key, each in self._running.items() if not _goes_on(each, wanted, held)])
        await self._readings.forget(list(wanted.values()))
        others = [source for key, source in wanted.items() if key not in self._running]
        free = await self._readings.free(others) if others else []
        self._random.shuffle(free)
        for source in free[: min(CLAIMS_A_LOOK, AT_MOST - len(self._running))]:
            await self._take(source)
        metrics.DATABASES_READ.set(len(self._running))

    async def _take(self, source: Source) -> None:
        claim = await self._readings.claim(source, self._owner)
        if claim is not None:
            task = asyncio.create_task(self._run(source, claim), name=f"read {key_of(source)}")
            self._running[key_of(source)] = _Running(source, claim, task)

    async def _run(self, source: Source, claim: Claim) -> None:
        await self._read(source, claim)

    async def _give_up(self, keys: list[str]) -> None:
        given = [self._running.pop(key) for key in keys]
        await asyncio.gather(*(self._end(each) for each in given))

    async def _end(self, reading: _Running) -> None:
        """Stop reading first, then release: nobody else shall begin before we have ended.

        Cancel until it works: a driver may lose a cancellation that comes together with an answer.
        """
        while not reading.task.done():
            reading.task.cancel()
            await asyncio.wait((reading.task,), timeout=CANCEL_AGAIN_S)
        with contextlib.suppress(Exception):  # then the lease ends by itself
            await self._readings.release(reading.claim)


def _goes_on(reading: _Running, wanted: dict[str, Source], held: Mapping[str, int]) -> bool:
    key = reading.claim.key
    ours = held.get(key) == reading.claim.epoch and not reading.task.done()
    return ours and wanted.get(key) == reading.source
