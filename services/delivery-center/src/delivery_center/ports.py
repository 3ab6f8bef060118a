"""What the delivery-center needs from outside, in its own words."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from delivery_center.domain.circuit_breaker import FailingTarget, TargetRef
from delivery_center.domain.delivery import Delivery
from delivery_center.domain.facts import Fact
from delivery_center.domain.page_cursor import PageCursor
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.delivery import Attachment, DeliveryContent, DeliveryContext, DeliveryPermission
from rota_contracts.messages.delivery_log import ListDeliveries, ReplayDeliveries
from rota_contracts.messages.notification import Subscription
from rota_contracts.messages.targets import Suppression
from rota_contracts.messages.text import Text
from rota_contracts.model import Json
from rota_contracts.robots.robot import Robot


@dataclass(frozen=True, slots=True)
class ResolvedAttachment:
    """An attachment of a result, and what is kept of it; `missing` says why nothing is."""

    attachment: Attachment
    stored: StoredAttachment | None = None
    missing: str = ""


C_contra = TypeVar("C_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """What is sent to one target. `at` is the instant of this attempt, `created_at` that of the delivery."""

    delivery_id: str
    request_id: str
    at: datetime
    created_at: datetime
    content: DeliveryContent
    body: str
    context: DeliveryContext
    robot: Robot
    traceparent: str = ""
    attachments: tuple[ResolvedAttachment, ...] = ()
    replay_of: str | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """Who received it, and what the receiver said."""

    recipients: tuple[str, ...] = ()
    details: Json = None


class TransientReply(Transient):
    """A Transient with what the receiver said."""

    def __init__(self, reason: str, *, after: float | None = None, details: Json = None) -> None:
        super().__init__(reason, after=after)
        self.details = details


class Rejected(Permanent):
    """A Permanent with what the receiver said."""

    def __init__(self, reason: str, *, details: Json = None) -> None:
        super().__init__(reason)
        self.details = details


class Gone(Rejected):
    """The receiver says that nothing shall ever be sent to it again."""


class Channel(Protocol[C_contra]):
    """One way to reach a target."""

    async def send(self, target: C_contra, outgoing: OutgoingMessage) -> Sent:
        """Raise Transient if it may work later, Permanent if it never will. A repeat must be recognisable by the
        receiver: it carries the same `delivery_id`."""
        ...


class Deliveries(Protocol):
    """The deliveries of all teams."""

    async def find(self, request_id: str) -> Delivery | None: ...

    async def insert(self, delivery: Delivery) -> Delivery:
        """Store it, and return what is stored: if there was one with this request id, that one stays."""
        ...

    async def claim_due(self, now: datetime, until: datetime) -> Delivery | None:
        """Take a delivery that is due; nobody else gets it before `until`. None if there is none."""
        ...

    async def claim_of(self, team: str, member: str, now: datetime, until: datetime) -> Delivery | None:
        """Take a delivery of this robot with targets still to be tried, due or not, unless somebody has it."""
        ...

    async def has_pending(self, team: str, member: str) -> bool:
        """Does this robot have deliveries with targets still to be tried?"""
        ...

    async def save(self, delivery: Delivery) -> bool:
        """Write targets, `due_at` and `claimed` of a claimed delivery; False if somebody has claimed it since."""
        ...


class DeliveryLog(Protocol):
    """The deliveries of all teams, as people look at them. Without the body of their contents, which may be long, but
    for `find` and `replayable`."""

    async def find(self, request_id: str) -> Delivery | None: ...

    async def insert(self, delivery: Delivery) -> Delivery:
        """As `Deliveries.insert`."""
        ...

    async def find_of(self, team: str, execution_id: str) -> Delivery | None:
        """The delivery of this team's execution; the newest if there are several. Replays don't count."""
        ...

    async def page(self, asked: ListDeliveries, *, after: PageCursor | None) -> list[Delivery]:
        """Those that fit, newest first, from the one behind `after` on; `asked.limit` of them."""
        ...

    async def replayable(self, asked: ReplayDeliveries, *, after: PageCursor | None) -> list[Delivery]:
        """Those that fit and have a target of the kind that is asked for, oldest first, from the one behind `after` on;
        `asked.limit` of them. Replays only by their own id, and nothing that was only recorded."""
        ...

    async def replays_of(self, request_ids: Sequence[str]) -> list[Delivery]: ...


class DeliveryStore(Deliveries, DeliveryLog, Protocol):
    """One store for the work and for those who look at it."""


class FailingTargets(Protocol):
    """The places of all teams that fail or are switched off. Each raises Transient if the store is away."""

    async def all(self) -> list[FailingTarget]: ...

    async def of(self, team: str) -> list[FailingTarget]:
        """A team's, by label."""
        ...

    async def failed(self, place: TargetRef, error: str, at: datetime) -> FailingTarget:
        """Count one more failure, the first of which says since when it fails; return what is kept then."""
        ...

    async def reached(self, target_id: str, at: datetime) -> None:
        """It works: forget it, unless it is switched off, or has failed after `at`."""
        ...

    async def disable(self, place: TargetRef, reason: str, at: datetime) -> FailingTarget | None:
        """Disable it; None if it is disabled already, so that of many one does it."""
        ...

    async def enable(self, team: str, target_id: str, at: datetime) -> FailingTarget | None:
        """Enable it, its failures forgotten; None if it isn't disabled."""
        ...

    async def mark_published(self, target: FailingTarget) -> None:
        """The last switch of this place has been published, unless it was switched again since."""
        ...

    async def seen(self, team: str, target_id: str) -> TargetRef | None:
        """A place that the team's newest delivery to it went to; None if none did."""
        ...


class TargetEvents(Protocol):
    """Where owners read that a place was switched."""

    async def publish(self, target: FailingTarget) -> None:
        """That it is disabled, or enabled, as it is; said twice it is one fact. Raise Transient if it can't be said."""
        ...


class Subscriptions(Protocol):
    """Who wants the notifications of a team's channels."""

    async def add(self, subscription: Subscription) -> None:
        """Keep it, unless it is kept already."""
        ...

    async def remove(self, team: str, channel: str, subscriber: str) -> None: ...

    async def of(self, team: str, channel: str | None = None) -> list[Subscription]:
        """By channel and subscriber; with `channel` those of it alone. Raise Transient if the store is away."""
        ...


class Suppressions(Protocol):
    """Who gets no mail of a team any more; addresses in lower case."""

    async def add(self, suppression: Suppression) -> Suppression:
        """Keep it, and return what is kept: one that was there for this address stays."""
        ...

    async def remove(self, team: str, address: str) -> None: ...

    async def among(self, team: str, addresses: Collection[str]) -> set[str]:
        """Those of `addresses` that get no mail. Raise Transient if the store is away."""
        ...

    async def page(self, team: str, after: str, limit: int) -> list[Suppression]:
        """By address, from the one behind `after` on."""
        ...


class Files(Protocol):
    """What goes with results. Each raises Transient if the store is away."""

    async def find(self, team: str, file_id: str) -> StoredAttachment | None:
        """None if this team has no such file."""
        ...

    async def content(self, stored: StoredAttachment) -> bytes:
        """Raise Permanent if it is not what was stored."""
        ...


class Robots(Protocol):
    async def find(self, team: str, member: str) -> Robot | None: ...


class Executions(Protocol):
    async def may_deliver(self, team: str, execution_id: str) -> DeliveryPermission:
        """May the result of this execution go out now? Raise Transient if nobody can say."""
        ...


class Texts(Protocol):
    async def read(self, text: Text) -> str:
        """Raise Permanent if the text is not what was stored."""
        ...


class FeedPublisher(Protocol):
    """Where facts are published."""

    async def publish(self, facts: Sequence[Fact], *, of: Delivery, again: bool = False) -> None:
        """All but the last in any order, then the last. `again`: some may have been published before."""
        ...
