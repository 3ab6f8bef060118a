"""Copies of definitions for other services: first each new revision, then the sets, then the current one."""

from dataclasses import dataclass, field

from rota_common.runtime.logs import logger
from trigger_gateway.definitions.ports import DefinitionCopies, DefinitionStore
from trigger_gateway.definitions.record import Head

BATCH = 100
MANY = 1_000
LOG = logger(service="trigger-gateway")


@dataclass(frozen=True, kw_only=True)
class CopyDefinitions:
    """Safe to do twice and concurrently: a revision never changes, and the current set's older versions are ignored."""

    store: DefinitionStore
    copies: DefinitionCopies
    _failed: set[str] = field(default_factory=set, init=False)

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
        """Copy what was saved but not copied, because something failed between; True if there may be more. A team whose
        definitions can't be copied is passed over, and tried again once all others were."""
        found = await self.store.unsynced(BATCH, apart_from=self._failed)
        for team in found:
            try:
                await self(await self.store.head(team))
            except Exception as error:
                self.check()  # NATS is away: that is no team's fault, and none is passed over
                self._failed.add(team)
                LOG.warning("definitions not copied", team_id=team, reason=repr(error))
        if not found or len(self._failed) > MANY:
            self._failed.clear()
        return bool(found)
