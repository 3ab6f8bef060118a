"""Records the changes of the API: an entry before each, so that nothing is changed without one, and its end after."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from rota_common.clock import Clock
from rota_common.errors import Transient
from trigger_gateway.audit.entry import ADMINISTRATOR, AuditEntry, AuditMark
from trigger_gateway.audit.ports import AuditFacts, AuditLog
from trigger_gateway.teams.authenticate import Caller

BROKEN_OFF = timedelta(hours=1)
"""After this an entry without an end is published as one whose outcome is unknown."""

BATCH = 100
KEPT = 200_000
"""Entries of each team, the newest."""


@dataclass(frozen=True, kw_only=True)
class RecordChanges:
    """`days`: how long an entry is kept."""

    log: AuditLog
    facts: AuditFacts
    clock: Clock
    new_id: Callable[[], str]
    days: int

    async def begin(self, caller: Caller, team: str, action: str, *, request_id: str, address: str) -> AuditEntry:
        """Raise Transient, or an outage, when it can't be recorded: then nothing may be changed."""
        now = self.clock()
        entry = AuditEntry(
            audit_id=self.new_id(),
            team=team,
            at=now.replace(microsecond=now.microsecond // 1000 * 1000),
            by=caller.key_id or ADMINISTRATOR,
            by_name=caller.name,
            role=caller.role.value if caller.key_id else "",
            action=action,
            request_id=request_id,
            address=address,
        )
        await self.log.begin(entry, until=now + timedelta(days=self.days))
        return entry

    async def end(self, entry: AuditEntry, *, status: int, on: dict[str, str], changed: bool) -> None:
        if changed:
            names = {name: value for name, value in on.items() if name != "team_id"}
            await self.log.finish(replace(entry, status=status, on=names, team=on.get("team_id", entry.team)))
        else:
            await self.log.drop(entry.audit_id)

    async def publish(self) -> bool:
        """Publish what isn't published yet; True if there may be more. While NATS is away the entries wait."""
        found = await self.log.unpublished(begun_before=self.clock() - BROKEN_OFF, limit=BATCH)
        try:
            await self.facts.publish(found)
        except Transient:
            return False
        for entry in found:
            await self.log.mark_published(entry.audit_id)
        return len(found) == BATCH

    async def prune(self) -> None:
        await self.log.prune(kept=KEPT)

    async def page(self, team: str | None, *, after: AuditMark | None, limit: int) -> list[AuditEntry]:
        return await self.log.page(team, after=after, limit=limit)
