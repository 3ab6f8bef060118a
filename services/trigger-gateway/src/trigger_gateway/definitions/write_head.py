"""The writing of a team's next head: by compare-and-set on the one that it was made for, then copied."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from rota_common.errors import Transient
from trigger_gateway.definitions.copy_definitions import CopyDefinitions
from trigger_gateway.definitions.ports import DefinitionStore
from trigger_gateway.definitions.record import Head, Next, agents_gone
from trigger_gateway.members.end_files import EndFiles
from trigger_gateway.problems import Conflict, StoredNotApplied
from trigger_gateway.teams.shares import Allow, allow_all

TRIES = 5
"""Attempts while others change the team's definitions concurrently."""


@dataclass(frozen=True, kw_only=True)
class WriteHead:
    store: DefinitionStore
    copy: CopyDefinitions
    end_files: EndFiles
    allow: Allow = allow_all

    async def __call__(
        self, team: str, make: Callable[[Head], Awaitable[Next]], *, at: datetime, dry_run: bool = False
    ) -> Next:
        """What `make` made of the head of now; one with that same head changes nothing. Raises Conflict while others
        write, StoredNotApplied when NATS goes away meanwhile."""
        self.copy.check()
        for _ in range(TRIES):
            head = await self.store.head(team)
            made = await make(head)
            if dry_run or made.head == head:
                await self._copied(head)
                return made
            async with self.end_files(team, agents=agents_gone(head, made.head)):
                written = await self.store.write(made, expected=head, at=at, allow=self.allow)
            if written:
                await self._copied(made.head)
                return made
        raise Conflict("changed_meanwhile", "others change the team's definitions at the same moment: try again")

    async def _copied(self, head: Head) -> None:
        try:
            await self.copy(head)
        except Transient as error:
            raise StoredNotApplied(
                "stored_not_applied",
                "the change is stored and will be applied as soon as NATS is back; a repeat is harmless",
            ) from error
