"""Change streams of databases: leases, resume points, and the ports that they are read through."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from trigger_gateway.databases.change_event import Change
from trigger_gateway.sources.source import DatabaseSettings, Source


class ReadingState(StrEnum):
    """`lost`: it is read, but changes were missed, with the `reason`, until the source is changed.

    `waiting`: its reader can't read it now and tries again. `unread`: no replica reads it.
    """

    READING = "reading"
    WAITING = "waiting"
    LOST = "lost"
    UNREAD = "unread"


@dataclass(frozen=True)
class ReadingStatus:
    """The state of reading a database, `since` when and why; `changes` counts those that became events."""

    state: ReadingState
    reason: str = ""
    since: datetime | None = None
    last_change_at: datetime | None = None
    changes: int = 0


@dataclass(frozen=True)
class Lease:
    """The right to read a source, until another replica has a higher `epoch`."""

    key: str
    owner: str
    epoch: int


@dataclass(frozen=True)
class ResumePoint:
    """Where to continue: after the last change read, or at an instant if none was read yet."""

    since: datetime
    after: str | None = None


class LeaseLost(Exception):
    """Another replica has the lease."""


class StreamBroken(Exception):
    """The change stream can't be resumed from this token, for this `reason`. `after`: where it continues."""

    def __init__(self, reason: str, after: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.after = reason, after


class StreamLeases(Protocol):
    """Leases, by the clock of the store, with resume points. All raise `Transient` when the store is away."""

    async def unleased(self, sources: Sequence[Source]) -> list[Source]:
        """Those without a lease."""
        ...

    async def acquire(self, source: Source, owner: str) -> Lease | None:
        """None if another replica has it. A recreated source, or one with another collection, starts afresh."""
        ...

    async def renew(self, owner: str) -> Mapping[str, int]:
        """Renew all leases that `owner` still has; their epochs by key."""
        ...

    async def release(self, lease: Lease) -> None:
        """Let the next replica have it at once; nothing if it is lost."""
        ...

    async def forget(self, kept: Sequence[Source]) -> None:
        """Drop the records of sources that are gone and have not been read for a while."""
        ...

    async def resume_point(self, lease: Lease) -> ResumePoint:
        """Raise LeaseLost."""
        ...

    async def advance(
        self, lease: Lease, after: str, *, changes: int = 0, last_change_at: datetime | None = None
    ) -> None:
        """Store that all up to `after` is done, `changes` of it events. Raise LeaseLost."""
        ...

    async def note(self, lease: Lease, state: ReadingState, reason: str = "") -> None:
        """Store the state: reading or waiting. Raise LeaseLost."""
        ...

    async def mark_lost(self, lease: Lease, reason: str, *, after: str | None, now: datetime) -> None:
        """Store that changes were missed; it continues after this token, however old the changes there are by now, or
        from now on. Raise LeaseLost."""
        ...

    async def status(self, team: str, name: str) -> ReadingStatus: ...


@dataclass(frozen=True)
class Batch:
    """`after` is the token behind all changes so far; None until the database has sent one."""

    changes: Sequence[Change]
    after: str | None


class ChangeStream(Protocol):
    async def batch(self, limit: int) -> Batch:
        """The next changes, without any after about a second.

        Raise StreamBroken when the stream has ended or can't be resumed, Transient when the database is away.
        """
        ...


class Databases(Protocol):
    def follow(
        self, settings: DatabaseSettings, start: ResumePoint, *, address: str
    ) -> AbstractAsyncContextManager[ChangeStream]:
        """Raise StreamBroken when this point no longer exists, Transient when the database can't be read now.

        Their messages hold no secret and no address.
        """
        ...


def key_of(source: Source) -> str:
    return f"{source.team}/{source.name}"
