"""Databases and stream leases in memory, held to the same tests as the real ones."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rota_common.clock import Clock
from trigger_gateway.databases.change_event import Change
from trigger_gateway.databases.change_streams import (
    Batch,
    ChangeStream,
    Lease,
    LeaseLost,
    ReadingState,
    ReadingStatus,
    ResumePoint,
    StreamBroken,
    key_of,
)
from trigger_gateway.sources.source import DatabaseSettings, Source

UNREAD = "no replica reads it"


@dataclass(frozen=True)
class _Kept:
    source: Source
    lease: Lease
    until: datetime
    point: ResumePoint
    state: ReadingState = ReadingState.WAITING
    reason: str = "it is being opened"
    state_since: datetime | None = None
    lost: tuple[str, datetime] | None = None
    last_change_at: datetime | None = None
    changes: int = 0


class InMemoryStreamLeases:
    """`clock` judges the leases."""

    def __init__(self, clock: Clock, *, lease: float = 10.0, kept: float = 60.0) -> None:
        self._clock = clock
        self._lease, self._keep = timedelta(seconds=lease), timedelta(seconds=kept)
        self._kept: dict[str, _Kept] = {}

    async def unleased(self, sources: Sequence[Source]) -> list[Source]:
        return [source for source in sources if not self._held(key_of(source))]

    async def acquire(self, source: Source, owner: str) -> Lease | None:
        key = key_of(source)
        if self._held(key):
            return None
        before, until = self._kept.get(key), self._clock() + self._lease
        lease = Lease(key, owner, before.lease.epoch + 1 if before else 1)
        if before is not None and _what(before.source) == _what(source):
            lost = before.lost if before.source.rev == source.rev else None
            kept = replace(before, source=source, lease=lease, until=until, lost=lost)
        else:
            anew = before is None or before.source.created_at != source.created_at
            kept = _Kept(source, lease, until, ResumePoint(source.created_at if anew else self._clock()))
        self._kept[key] = kept
        return lease

    async def renew(self, owner: str) -> Mapping[str, int]:
        mine = {key: kept for key, kept in self._kept.items() if kept.lease.owner == owner}
        for key, kept in mine.items():
            self._kept[key] = replace(kept, until=self._clock() + self._lease)
        return {key: kept.lease.epoch for key, kept in mine.items()}

    async def release(self, lease: Lease) -> None:
        kept = self._kept.get(lease.key)
        if kept is not None and kept.lease == lease:
            self._kept[lease.key] = replace(kept, until=self._clock(), lease=replace(lease, owner=""))

    async def forget(self, kept: Sequence[Source]) -> None:
        keys, long_ago = {key_of(source) for source in kept}, self._clock() - self._keep
        self._kept = {key: each for key, each in self._kept.items() if key in keys or each.until >= long_ago}

    async def resume_point(self, lease: Lease) -> ResumePoint:
        return self._mine(lease).point

    async def advance(
        self, lease: Lease, after: str, *, changes: int = 0, last_change_at: datetime | None = None
    ) -> None:
        kept = self._mine(lease)
        self._kept[lease.key] = replace(
            kept,
            point=replace(kept.point, after=after),
            changes=kept.changes + changes,
            last_change_at=last_change_at or kept.last_change_at,
        )

    async def note(self, lease: Lease, state: ReadingState, reason: str = "") -> None:
        kept = self._mine(lease)
        since = kept.state_since if kept.state is state and kept.state_since else self._clock()
        self._kept[lease.key] = replace(kept, state=state, reason=reason, state_since=since)

    async def mark_lost(self, lease: Lease, reason: str, *, after: str | None, now: datetime) -> None:
        kept = self._mine(lease)
        since = kept.point.since if after else now
        self._kept[lease.key] = replace(kept, point=ResumePoint(since, after), lost=(reason, now))

    async def status(self, team: str, name: str) -> ReadingStatus:
        kept = self._kept.get(f"{team}/{name}")
        if kept is None:
            return ReadingStatus(ReadingState.UNREAD, UNREAD)
        status = kept.state, kept.reason, kept.state_since
        if not self._held(f"{team}/{name}"):
            status = ReadingState.UNREAD, UNREAD, kept.until
        elif kept.state is ReadingState.READING and kept.lost is not None:
            status = ReadingState.LOST, *kept.lost
        return ReadingStatus(*status, kept.last_change_at, kept.changes)

    def _held(self, key: str) -> bool:
        return key in self._kept and self._kept[key].until > self._clock()

    def _mine(self, lease: Lease) -> _Kept:
        kept = self._kept.get(lease.key)
        if kept is None or kept.lease != lease:
            raise LeaseLost(lease.key)
        return kept


def _what(source: Source) -> tuple[datetime, str, str, str]:
    settings = source.database
    if settings is None:
        raise TypeError(f"expected {key_of(source)} to be a database: it is a webhook")
    return source.created_at, settings.url, settings.database, settings.collection


class InMemoryDatabases:
    """One collection, whatever its name: `changes` in their order, with numbers as tokens.

    `away`, where it is set, is raised when it is opened next, `broken` when it is read on.
    """

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.away: Exception | None = None
        self.broken: StreamBroken | None = None
        self.more = asyncio.Condition()
        self.addresses: list[str] = []

    async def append(self, *changes: Change) -> None:
        async with self.more:
            self.changes += changes
            self.more.notify_all()

    @contextlib.asynccontextmanager
    async def follow(
        self, settings: DatabaseSettings, start: ResumePoint, *, address: str
    ) -> AsyncIterator[ChangeStream]:
        self.addresses.append(address)
        if self.away is not None:
            raise self.away
        yield _InMemoryStream(self, settings, start=start)


class _InMemoryStream:
    def __init__(self, source: InMemoryDatabases, settings: DatabaseSettings, *, start: ResumePoint) -> None:
        self._source, self._settings = source, settings
        self._since = start.since
        tokens = [change.token for change in source.changes]
        self._next = tokens.index(start.after) + 1 if start.after in tokens else 0

    async def batch(self, limit: int) -> Batch:
        async with self._source.more:
            await self._source.more.wait_for(lambda: self._source.broken or self._next < len(self._source.changes))
        if self._source.broken is not None:
            broken, self._source.broken = self._source.broken, None
            raise broken
        some = self._source.changes[self._next : self._next + limit]
        self._next += len(some)
        wanted = [each for each in some if each.operation in self._settings.operations and each.at >= self._since]
        return Batch(wanted, some[-1].token)
