"""Copies of definitions for other services: first each new revision, then the sets, then the current one."""

from dataclasses import dataclass, field
from functools import partial

from trigger_gateway.definitions.ports import DefinitionCopies, DefinitionStore
from trigger_gateway.definitions.record import Head
from trigger_gateway.sweep import BATCH, Sweep


@dataclass(frozen=True, kw_only=True)
class CopyDefinitions:
    """Safe to do twice and concurrently: a revision never changes, and the current set's older versions are ignored."""

    store: DefinitionStore
    copies: DefinitionCopies
    _sweep: Sweep[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sweep", Sweep(failing="definitions not copied", check=self.check))

    def check(self) -> None:
        """Raise Transient if it can't work now, so that nothing is saved that other services would not see."""
        self.copies.check()

    async def __call__(self, head: Head) -> None:
        """Raises Transient when NATS is away."""
        if head.synced:
            return
        new = await self.store.uncopied(head.team)
        await self.copies.put(new)
        await self.store.mark_copied(head.team, new)
        await self.copies.put_current(head.shown)
        await self.store.mark_synced(head)

    async def sweep(self) -> bool:
        """Copy what was saved but not copied, because something failed between; True if there may be more."""
        found = await self.store.unsynced(BATCH, apart_from=self._sweep.failed)
        return await self._sweep({team: partial(self._copy_of, team) for team in found})

    async def _copy_of(self, team: str) -> None:
        await self(await self.store.head(team))
