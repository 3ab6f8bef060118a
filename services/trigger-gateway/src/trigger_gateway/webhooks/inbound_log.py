"""What is kept of what came in: events that were accepted, with their repeats, and why others were refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from trigger_gateway.webhooks.inbound_event import InboundEvent, StartedRun

REFUSALS_KEPT = 100
"""Lines about refused posts that are kept of each source, the newest; a minute's posts with one reason are one line."""


class Status(StrEnum):
    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True)
class LogEntry:
    """An event that was accepted, and what became of it. `digest` is its body's: a repeat has the same."""

    event: InboundEvent
    runs: Sequence[StartedRun]
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
    runs: Sequence[StartedRun] = ()
    reason: str = ""
    request_id: str = ""
