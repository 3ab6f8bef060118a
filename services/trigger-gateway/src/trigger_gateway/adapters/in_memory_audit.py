"""The audit trail in memory, held to the same tests as the real one. `away` makes it fail."""

from datetime import datetime

from rota_common.errors import Transient
from trigger_gateway.audit.entry import AuditEntry, AuditMark


class InMemoryAuditLog:
    def __init__(self) -> None:
        self.away = False
        self._entries: dict[str, AuditEntry] = {}
        self._states: dict[str, str] = {}

    async def begin(self, entry: AuditEntry, *, until: datetime) -> None:
        if self.away:
            raise Transient("MongoDB: gone")
        self._entries[entry.audit_id], self._states[entry.audit_id] = entry, "begun"

    async def finish(self, entry: AuditEntry) -> None:
        self._entries[entry.audit_id], self._states[entry.audit_id] = entry, "finished"

    async def drop(self, audit_id: str) -> None:
        self._entries.pop(audit_id, None)

    async def unpublished(self, *, begun_before: datetime, limit: int) -> list[AuditEntry]:
        found = [
            each
            for each in sorted(self._entries.values(), key=lambda each: each.at)
            if (state := self._states[each.audit_id]) == "finished" or (state == "begun" and each.at < begun_before)
        ]
        return found[:limit]

    async def mark_published(self, audit_id: str) -> None:
        self._states[audit_id] = "published"

    async def page(self, team: str | None, *, after: AuditMark | None, limit: int) -> list[AuditEntry]:
        mine = [
            each
            for each in self._newest(team)
            if after is None or (each.at, each.audit_id) < (after.at, after.audit_id)
        ]
        return mine[:limit]

    async def prune(self, *, kept: int) -> None:
        for team in {each.team for each in self._entries.values()}:
            for each in self._newest(team)[kept:]:
                await self.drop(each.audit_id)

    def _newest(self, team: str | None) -> list[AuditEntry]:
        mine = (each for each in self._entries.values() if team in (None, each.team))
        return sorted(mine, key=lambda each: (each.at, each.audit_id), reverse=True)
