"""Assigns each database to exactly one replica: takes those without a reader, gives up changed and deleted ones."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from rota_common.errors import Transient
from rota_common.runtime import metrics
from rota_common.runtime.logs import logger
from trigger_gateway.databases.change_streams import Lease, StreamLeases, key_of
from trigger_gateway.sources.ports import Sources
from trigger_gateway.sources.source import Source

EVERY_S = 1.0
CANCEL_AGAIN_S = 2.0
AT_MOST = 100
"""Databases that one replica reads: each takes connections and memory of its own."""

LEASES_A_ROUND = 10
"""So that replicas that begin together share them."""

Read = Callable[[Source, Lease], Awaitable[None]]


@dataclass(frozen=True)
class _Running:
    source: Source
    lease: Lease
    task: asyncio.Task[None]


@dataclass(kw_only=True)
class AssignDatabases:
    """`read` reads one until it is cancelled or loses its lease. `owner` names this replica."""

    sources: Sources
    leases: StreamLeases
    read: Read
    random: Random
    owner: str
    service: str
    _running: dict[str, _Running] = field(init=False, default_factory=dict)
    _log: Any = field(init=False)

    def __post_init__(self) -> None:
        self._log = logger(service=self.service)

    async def __call__(self) -> None:
        """Once; while the store is away, what is read is read on."""
        try:
            await self.assign()
        except Transient as error:
            self._log.warning("can't assign databases", reason=str(error))

    async def release(self) -> None:
        """Stop reading, and release every lease."""
        await self._give_up(list(self._running))

    async def assign(self) -> None:
        """Once: renew our leases, drop those that are no longer wanted, take those that are free."""
        wanted = {key_of(source): source for source in await self.sources.databases()}
        held = await self.leases.renew(self.owner)
        await self._give_up([key for key, each in self._running.items() if not _goes_on(each, wanted, held)])
        await self.leases.forget(list(wanted.values()))
        others = [source for key, source in wanted.items() if key not in self._running]
        free = await self.leases.unleased(others) if others else []
        self.random.shuffle(free)
        for source in self._in_turn(free)[: min(LEASES_A_ROUND, AT_MOST - len(self._running))]:
            await self._take(source)
        metrics.DATABASES_READ.set(len(self._running))

    def _in_turn(self, free: Sequence[Source]) -> list[Source]:
        """One of each team, then the second of each …, counting those that are read here: so that no team's many
        databases keep out another's first one."""
        counts, ranks = Counter(each.source.team for each in self._running.values()), dict[str, int]()
        for source in free:
            ranks[key_of(source)] = counts[source.team]
            counts[source.team] += 1
        return sorted(free, key=lambda source: ranks[key_of(source)])

    async def _take(self, source: Source) -> None:
        lease = await self.leases.acquire(source, self.owner)
        if lease is not None:
            task = asyncio.create_task(self._run(source, lease), name=f"read {key_of(source)}")
            self._running[key_of(source)] = _Running(source, lease, task)

    async def _run(self, source: Source, lease: Lease) -> None:
        await self.read(source, lease)

    async def _give_up(self, keys: list[str]) -> None:
        given = [self._running.pop(key) for key in keys]
        await asyncio.gather(*(self._end(each) for each in given))

    async def _end(self, reading: _Running) -> None:
        """Stop reading first, then release: no other replica may begin before we have ended.

        Cancel until it works: a driver may lose a cancellation that comes together with an answer.
        """
        while not reading.task.done():
            reading.task.cancel()
            await asyncio.wait((reading.task,), timeout=CANCEL_AGAIN_S)
        with contextlib.suppress(Exception):  # then the lease ends by itself
            await self.leases.release(reading.lease)


def _goes_on(reading: _Running, wanted: dict[str, Source], held: Mapping[str, int]) -> bool:
    key = reading.lease.key
    ours = held.get(key) == reading.lease.epoch and not reading.task.done()
    return ours and wanted.get(key) == reading.source
