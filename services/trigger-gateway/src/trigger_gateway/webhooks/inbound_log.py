"""What is kept of what came in: events that were accepted, with their repeats, and why others were refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from trigger_gateway.webhooks.inbound_event import InboundEvent, Woken

REFUSALS_KEPT = 100
"""Lines about refused posts that are kept of each source, the newest; a minute's posts with one reason are one line."""


class Status(StrEnum):
    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True)
class Logged:
    """An event that was accepted, and what became of it. `digest` is its body's: a repeat has the same."""

    event: InboundEvent
    woken: Sequence[Woken]
    digest: str = ""


@dataclass(frozen=True)
class Refusal:
    """A post that was not taken. `event_id` is what its sender called it, which nobody may have proved."""

    team: str
    source: str
    reason: str
    at: datetime
    request_id: str = ""
    event_id: str = ""


@dataclass(frozen=True)
class LogLine:
    """An accepted event with its repeats; or a minute's posts that were refused for the same reason, the last by name.

    `count` is how many posts it stands for, `last_at` when the last of them came.
    """

    source: str
    status: Status
    event_id: str
    at: datetime
    count: int
    last_at: datetime
    type: str | None = None
    woken: Sequence[Woken] = ()
    reason: str = ""
    request_id: str = ""


class InboundLog(Protocol):
    """Forgets after 30 days. What is noted never raises, costs the caller no time, and may be lost with the process."""

    async def add(self, entry: Logged) -> None:
        """Note an accepted event, but for its data; triggers that were not there the first time are added."""
        ...

    def repeated(self, event: InboundEvent) -> None:
        """Note that an accepted event came again."""
        ...

    def refused(self, refusal: Refusal) -> None: ...

    async def recall(self, team: str, source: str, event_id: str) -> Logged | None:
        """The event, if it was accepted before. Another replica's is there a moment later. Raises Transient."""
        ...

    async def await_entry(self, team: str, source: str, event_id: str) -> Logged | None:
        """As `recall`, of an event that another replica is just accepting: wait for that moment."""
        ...

    async def find(self, team: str, source: str, event_id: str) -> LogLine | None: ...

    async def by_trigger(self, team: str, trigger_id: str) -> LogLine | None:
        """The event that a trigger came from."""
        ...

    async def page(self, team: str, source: str, *, page: int, page_size: int) -> tuple[list[LogLine], bool]:
        """Newest first, and whether there is more."""
        ...
