"""Ports of webhooks: the inbound log, the shared rate limits, the agents that answer messages."""

from dataclasses import dataclass
from typing import Protocol

from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.provider import AgentCard
from trigger_gateway.webhooks.inbound_event import InboundEvent
from trigger_gateway.webhooks.inbound_log import LogEntry, LogLine, Refusal
from trigger_gateway.webhooks.posts import KeptPost


class InboundLog(Protocol):
    """Kept for 30 days. Writing never raises, costs the caller no time, and may be lost with the process.

    Posts are kept beside the lines for a shorter time, and within a share of their team: the oldest go first.
    """

    async def add(self, entry: LogEntry) -> None:
        """Log an accepted event, without its data, and keep its post; runs that were not there the first time are
        added."""
        ...

    def repeated(self, event: InboundEvent) -> None:
        """Count a repeat of an accepted event."""
        ...

    def refused(self, refusal: Refusal) -> None: ...

    async def recall(self, team: str, source: str, event_id: str) -> LogEntry | None:
        """The event, if it was accepted before; another replica's a moment later. Raises Transient."""
        ...

    async def recall_body(self, team: str, source: str, digest: str) -> LogEntry | None:
        """As `recall`, by the digest of the body."""
        ...

    async def await_entry(self, team: str, source: str, event_id: str) -> LogEntry | None:
        """As `recall`, for an event that another replica is accepting just now: waits for its entry."""
        ...

    async def find(self, team: str, source: str, name: str) -> LogLine | None:
        """The accepted event of this id; else the newest line of refused posts whose last one has this id, of its event
        or its request."""
        ...

    async def post(self, team: str, line: LogLine) -> KeptPost | None:
        """The post of a line, if it is still kept."""
        ...

    async def by_trigger(self, team: str, trigger_id: str) -> LogLine | None:
        """The event that a trigger came from."""
        ...

    async def page(self, team: str, source: str, *, page: int, page_size: int) -> tuple[list[LogLine], bool]:
        """Newest first, and whether there are more."""
        ...


@dataclass(frozen=True)
class Reserved:
    """Requests that are granted. `room_at` is the step at which the oldest of what is taken counts no more."""

    granted: int
    room_at: int = 0


class RateStore(Protocol):
    """Counters of requests, shared by all replicas."""

    async def reserve(self, key: str, step: int, wanted: int, limit: int) -> Reserved:
        """Reserve up to `wanted` requests, of the `limit` in the steps that count at this one.

        Raise Transient when the store is away.
        """
        ...


class Agents(Protocol):
    async def answer(self, call: CallAgent) -> AgentReply:
        """Raise Transient if there is no answer in time, Permanent if the call is refused."""
        ...

    async def cards(self, team: str) -> list[AgentCard]:
        """The agents that the team may use. Raise Transient when the executor doesn't answer."""
        ...
