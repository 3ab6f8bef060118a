"""The end of sets and revisions that no run needs any more."""

from dataclasses import dataclass
from datetime import timedelta

from rota_common.clock import Clock
from trigger_gateway.definitions.ports import DefinitionCopies, DefinitionStore

BATCH = 100
HISTORY = 20
"""Revisions of a definition that stay for people, however old they are."""


@dataclass(frozen=True, kw_only=True)
class ForgetDefinitions:
    """A loop of every replica. `keep`: as long as a run and what it began with are kept."""

    store: DefinitionStore
    copies: DefinitionCopies
    clock: Clock
    keep: timedelta

    async def __call__(self) -> bool:
        """True if there may be more."""
        found = await self.store.outdated(self.clock() - self.keep, limit=BATCH)
        if found:
            await self.copies.remove(found)
            await self.store.forget(found, keep=HISTORY)
        return bool(found)
