"""The port of the audit trail."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from trigger_gateway.audit.entry import AuditEntry, AuditMark


class AuditLog(Protocol):
    """Entries are kept until `until`."""

    async def begin(self, entry: AuditEntry, *, until: datetime) -> None: ...

    async def finish(self, entry: AuditEntry) -> None:
        """The request is over: its final entry, under the same id."""
        ...

    async def drop(self, audit_id: str) -> None:
        """The request changed nothing."""
        ...

    async def unpublished(self, *, begun_before: datetime, limit: int) -> list[AuditEntry]:
        """Finished entries whose fact isn't published, and those that were begun before this and never finished."""
        ...

    async def mark_published(self, audit_id: str) -> None: ...

    async def page(self, team: str | None, *, after: AuditMark | None, limit: int) -> list[AuditEntry]:
        """Newest first; of all teams with None."""
        ...

    async def prune(self, *, kept: int) -> None:
        """Keep the newest `kept` entries of each team."""
        ...


class AuditFacts(Protocol):
    async def publish(self, entries: Sequence[AuditEntry]) -> None:
        """Raise Transient when NATS is away."""
        ...
