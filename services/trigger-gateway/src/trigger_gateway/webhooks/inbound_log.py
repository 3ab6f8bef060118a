"""The inbound log: accepted events with their repeats, and refused posts with their reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from trigger_gateway.webhooks.inbound_event import InboundEvent, SentPost, StartedRun

REFUSALS_KEPT = 100
"""Lines of refused posts stored per source, the newest; a minute's posts with one reason are one line."""


class Status(StrEnum):
    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True)
class LogEntry:
    """An accepted event, and the runs that it started. `digest` is its body's: a repeat has the same."""

    event: InboundEvent
    runs: Sequence[StartedRun]
    digest: str = ""


@dataclass(frozen=True)
class Refusal:
    """A refused post. `event_id` is the sender's, possibly unverified. `cause`: `<word>: <sentence>`, for the owner."""

    team: str
    source: str
    reason: str
    at: datetime
    request_id: str = ""
    event_id: str = ""
    cause: str = ""
    sent: SentPost | None = None


@dataclass(frozen=True)
class LogLine:
    """An accepted event with its repeats; or a minute's posts that were refused for the same reason, the last by name.

    `count` is the number of posts, `last_at` the instant of the last one. `key` names the post that is kept: the first
    of an event, the last of those that were refused.
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
    cause: str = ""
    key: str = ""
