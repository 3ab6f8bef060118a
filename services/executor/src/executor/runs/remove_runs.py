"""The removal of runs that have been over for long enough, and of their long texts before them."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from executor.file_ports import Blobs
from executor.ports import Runs
from rota_common.clock import Clock
from rota_common.runtime.logs import logger
from rota_common.stores.blobs import Owner

BATCH = 100
AT_ONCE = 8

SPARE = timedelta(days=10)
"""A text that is so much older than runs are kept belongs to a run that took long, or to none."""

LOG = logger(service="executor", loop="remove")


@dataclass(frozen=True, kw_only=True)
class RemoveRuns:
    """Every replica removes. The texts go first: a kill in between leaves a run without texts, which the next call
    removes, and never a text without a run.

    `keep`: how long runs are kept once they are over.
    """

    runs: Runs
    blobs: Blobs
    clock: Clock
    keep: timedelta

    async def __call__(self) -> bool:
        """Remove a batch; returns whether there may be more. Raises Transient while the store of texts is away."""
        found = await self.runs.to_remove(limit=BATCH)
        if not found:
            return False
        if not await self.blobs.empty():
            free = asyncio.Semaphore(AT_ONCE)
            await asyncio.gather(*(self._free(owner, free) for owner in found))
        await self.runs.remove([owner.execution_id for owner in found])
        return len(found) == BATCH

    async def strays(self) -> None:
        """Remove old texts of runs that aren't there, as after the loss of a database."""
        before = self.clock() - self.keep - SPARE
        if removed := await self.blobs.free_strays(before=before, is_kept=self._is_kept):
            LOG.warning("removed long texts of no execution", texts=removed)

    async def _free(self, owner: Owner, turn: asyncio.Semaphore) -> None:
        async with turn:
            await self.blobs.free(owner)

    async def _is_kept(self, owner: Owner) -> bool:
        return await self.runs.is_there(owner.execution_id)
