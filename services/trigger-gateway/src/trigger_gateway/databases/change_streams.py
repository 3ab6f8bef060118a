"""Who reads which database, and how far it is read: the words and ports of reading changes (TG-12, F21)."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from trigger_gateway.databases.change_event import Change
from trigger_gateway.sources.source import DatabaseSettings, Source


class ReadingState(StrEnum):
    """`lost`: it is read, but changes were missed, and `reason` says which; so until the source is changed.

    `waiting`: whoever reads it can't for now, and tries again. `unread`: nobody reads it.
    """

    READING = "reading"
    WAITING = "waiting"
    LOST = "lost"
    UNREAD = "unread"


@dataclass(frozen=True)
class ReadingStatus:
    """How the reading of a database stands, `since` when and why; `changes` counts those that became events."""

    state: ReadingState
    reason: str = ""
    since: datetime | None = None
    last_change_at: datetime | None = None
    changes: int = 0


@dataclass(frozen=True)
class Lease:
    """The right to read a source, for as long as nobody else has a higher `epoch`."""

    key: str
    owner: str
    epoch: int


@dataclass(frozen=True)
class ResumePoint:
    """Where reading goes on: after what was read last, or at an instant where nothing was read yet."""

    since: datetime
    after: str | None = None


class LeaseLost(Exception):
    """Somebody else reads it by now."""


class StreamBroken(Exception):
    """The database can't tell all changes since this place, and `reason` says why. `after`: where it goes on."""

    def __init__(self, reason: str, after: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.after = reason, after


class StreamLeases(Protocol):
    """Leases, judged by the clock of the store, with what was read. All raise `Transient` when the store is away."""

    async def unleased(self, sources: Sequence[Source]) -> list[Source]:
        """Those that nobody has a lease of."""
        ...

    async def acquire(self, source: Source, owner: str) -> Lease | None:
        """None if somebody has it. A source that was made anew, or reads something else now, begins anew."""
        ...

    async def renew(self, owner: str) -> Mapping[str, int]:
        """Prolong all leases of `owner` that nobody has taken; their epochs by key."""
        ...

    async def release(self, lease: Lease) -> None:
        """Whoever comes next need not wait; nothing if it is lost."""
        ...

    async def forget(self, kept: Sequence[Source]) -> None:
        """Drop what is known of sources that aren't there any more and that nobody has read for a while."""
        ...

    async def resume_point(self, lease: Lease) -> ResumePoint:
        """Raise ClaimLost."""
        ...

    async def advance(
        self, lease: Lease, after: str, *, changes: int = 0, last_change_at: datetime | None = None
    ) -> None:
        """All up to `after` is done, `changes` of it events. Raise ClaimLost."""
        ...

    async def note(self, lease: Lease, state: ReadingState, reason: str = "") -> None:
        """How it goes: reading or waiting. Raise ClaimLost."""
        ...

    async def mark_lost(self, lease: Lease, reason: str, *, after: str | None, now: datetime) -> None:
        """Changes are missed; it goes on after this, or now. Raise ClaimLost."""
        ...

    async def status(self, team: str, name: str) -> ReadingStatus: ...


@dataclass(frozen=True)
class Batch:
    """`after` is the place behind all changes told so far; None while the database names none."""

    changes: Sequence[Change]
    after: str | None


class ChangeStream(Protocol):
    async def batch(self, limit: int) -> Batch:
        """The next changes, without any after about a second.

        Raise Interrupted when the stream has ended or can't be resumed, Transient when the database is away.
        """
        ...


class Databases(Protocol):
    def follow(self, settings: DatabaseSettings, place: ResumePoint) -> AbstractAsyncContextManager[ChangeStream]:
        """Raise Interrupted when there is no such place any more, Transient when the database can't be read now.

        Their texts hold no secret and no address.
        """
        ...


def key_of(source: Source) -> str:
    return f"{source.team}/{source.name}"
