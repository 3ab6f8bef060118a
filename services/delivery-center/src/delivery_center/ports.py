"""The ports of the delivery-center: what it needs from outside."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from delivery_center.domain.delivery import Delivery
from delivery_center.domain.facts import Fact
from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.domain.target_health import FailingTarget, TargetRef
from delivery_center.notices.ports import Recipients, SentNotices
from rota_common.errors import Permanent, Transient
from rota_common.page_cursor import PageCursor
from rota_common.spans.export_spans import Receiver
from rota_common.stores.team_documents import TeamDocuments
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.delivery import DeliveryPermission, DeliveryType
from rota_contracts.messages.delivery_log import ListDeliveries, ReplayDeliveries
from rota_contracts.messages.notification import Subscription
from rota_contracts.messages.targets import Suppression
from rota_contracts.messages.text import Text
from rota_contracts.model import Json
from rota_contracts.robots.robot import Robot

C_contra = TypeVar("C_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Sent:
    """The recipients of a message, and the receiver's reply."""

    recipients: tuple[str, ...] = ()
    details: Json = None


class NotAttempted(Transient):
    """Nothing was sent, and the receiver isn't the reason: the attempt waits, and isn't counted."""


class TransientReply(Transient):
    """A Transient with the receiver's reply."""

    def __init__(self, reason: str, *, after: float | None = None, details: Json = None) -> None:
        super().__init__(reason, after=after)
        self.details = details


class Rejected(Permanent):
    """A Permanent with the receiver's reply."""

    def __init__(self, reason: str, *, details: Json = None) -> None:
        super().__init__(reason)
        self.details = details


class Gone(Rejected):
    """The receiver replied that nothing may be sent to it any more."""


class Channel(Protocol[C_contra]):
    """One way to reach a target."""

    async def send(self, target: C_contra, outgoing: OutgoingMessage) -> Sent:
        """Raise Transient if it may succeed later, Permanent if it never will. A repeat has the same `delivery_id`."""
        ...


class Deliveries(Protocol):
    """Of all teams. A delivery that this version can't read raises Unreadable by its id, and is left out elsewhere."""

    async def find(self, request_id: str) -> Delivery | None: ...

    async def insert(self, delivery: Delivery) -> Delivery:
        """Store it, and return what is stored: an earlier one with this request id stays."""
        ...

    async def insert_begun(self, delivery: Delivery, lease: timedelta) -> Delivery:
        """As `insert`, of one that is `starting`; the claim of its request ends so long from now, by the store's
        clock."""
        ...

    async def record_first(self, delivery: Delivery) -> Delivery:
        """Write the outcomes of the first attempts of a stored delivery that is `starting`, and return what is stored:
        earlier outcomes stay. A claim of it ends."""
        ...

    async def claim_due(self, now: datetime, lease: timedelta) -> Delivery | None:
        """Claim a delivery that is due, exclusively for `lease`. None if there is none. Claims end by the store's own
        clock: those of the replicas may differ."""
        ...

    async def claim_of(self, team: str, member: str, lease: timedelta) -> Delivery | None:
        """Claim a delivery of this robot with targets that are not final, due or not, unless it is claimed."""
        ...

    async def has_pending(self, team: str, member: str) -> bool:
        """Whether this robot has deliveries with targets that are not final."""
        ...

    async def save(self, delivery: Delivery) -> bool:
        """Write targets, `due_at`, `claimed`, `starting` of a claimed delivery; False if it was claimed again since."""
        ...

    async def bring_forward(self, delivery: Delivery) -> bool:
        """Write targets and `due_at` of a delivery that is not claimed; False if it was claimed since it was read."""
        ...


class DeliveryLog(Protocol):
    """The deliveries of all teams, to be read. Body, result and tasks of their contents are left out, except
    by `find` and `replayable`."""

    async def find(self, request_id: str) -> Delivery | None: ...

    async def insert(self, delivery: Delivery) -> Delivery:
        """As `Deliveries.insert`."""
        ...

    async def find_of(self, team: str, execution_id: str) -> Delivery | None:
        """The delivery of this team's execution; the newest if there are several. Replays don't count."""
        ...

    async def page(self, asked: ListDeliveries, *, after: PageCursor | None) -> list[Delivery]:
        """The matching ones, newest first, from behind `after`; at most `asked.limit`."""
        ...

    async def replayable(self, asked: ReplayDeliveries, *, after: PageCursor | None) -> list[Delivery]:
        """The matching ones with a target in a requested state, oldest first, from behind `after`; at most
        `asked.limit`. Replays only by their own id, and nothing that was only recorded."""
        ...

    async def replays_of(self, request_ids: Sequence[str]) -> list[Delivery]: ...


class DeliveryStore(Deliveries, DeliveryLog, Protocol):
    """One store to work on deliveries and to read them."""


class FailingTargets(Protocol):
    """The targets of all teams that fail or are disabled. Each method raises Transient if the store is unavailable."""

    async def all(self) -> list[FailingTarget]: ...

    async def of(self, team: str) -> list[FailingTarget]:
        """A team's, by label."""
        ...

    async def record_failure(self, target: TargetRef, error: str, at: datetime) -> FailingTarget:
        """Count a failure, and return what is stored then. The first sets `failing_since`."""
        ...

    async def record_success(self, target_id: str, at: datetime) -> None:
        """Remove it, unless it is disabled, has an unpublished switch, or failed after `at`."""
        ...

    async def disable(self, target: TargetRef, reason: str, at: datetime) -> FailingTarget | None:
        """None if it is disabled already, so that one of several callers disables it."""
        ...

    async def enable(self, team: str, target_id: str, at: datetime) -> FailingTarget | None:
        """Enable it and clear its failures; None if it isn't disabled."""
        ...

    async def mark_published(self, target: FailingTarget) -> None:
        """The last switch of this target is published, unless it was switched again since."""
        ...

    async def request_retry(self, team: str, target_ids: Collection[str], at: datetime) -> None:
        """Note for every replica that these targets are to be tried now, those of them that are stored."""
        ...

    async def find_delivered(self, team: str, target_id: str) -> TargetRef | None:
        """The target as in the team's newest delivery to it; None if there is no such delivery."""
        ...


class TargetEvents(Protocol):
    """Events about targets, for their owners."""

    async def publish(self, target: FailingTarget) -> None:
        """Publish that it was disabled or enabled; published twice, it is one fact. Raise Transient if NATS is
        unavailable."""
        ...


class Subscriptions(Protocol):
    """The subscribers to the notifications of a team's channels."""

    async def add(self, subscription: Subscription) -> None:
        """Store it, unless it is stored already."""
        ...

    async def remove(self, team: str, channel: str, subscriber: str) -> None: ...

    async def of(self, team: str, channel: str | None = None) -> list[Subscription]:
        """By channel and subscriber; of all channels or one. Raise Transient if the store is unavailable."""
        ...


class Suppressions(Protocol):
    """The addresses that get no mail of a team, in lower case."""

    async def add(self, suppression: Suppression) -> Suppression:
        """Store it, and return what is stored: an earlier one for this address stays."""
        ...

    async def remove(self, team: str, address: str) -> None: ...

    async def among(self, team: str, addresses: Collection[str]) -> set[str]:
        """The suppressed ones of `addresses`. Raise Transient if the store is unavailable."""
        ...

    async def page(self, team: str, after: str, limit: int) -> list[Suppression]:
        """By address, from behind `after`."""
        ...


class Files(Protocol):
    """The stored attachments of results. Each method raises Transient if the store is unavailable."""

    async def find(self, team: str, file_id: str) -> StoredAttachment | None:
        """None if this team has no such file."""
        ...

    async def content(self, stored: StoredAttachment) -> bytes:
        """Raise Permanent if it is not what was stored."""
        ...


class Robots(Protocol):
    async def find(self, team: str, member: str) -> Robot | None: ...

    async def known(self, team: str, member: str, *, rev: int | None = None) -> Robot | None:
        """The same from memory, which a change reaches a moment later; at this revision or a later one if there is
        one."""
        ...


class Executions(Protocol):
    async def may_deliver(self, team: str, execution_id: str, request_id: str) -> DeliveryPermission:
        """Whether this delivery of this execution may be sent now. Raise Transient if the executor is unavailable."""
        ...


class Texts(Protocol):
    async def read(self, text: Text) -> str:
        """Raise Permanent if the text is not what was stored."""
        ...


class FeedCounts(Protocol):
    """The number of facts published on each subject of the feed."""

    async def last(self, subject: str) -> int: ...

    async def keep(self, counts: Mapping[str, int]) -> None: ...


class FeedPublisher(Protocol):
    """Publishes the facts of a delivery."""

    async def position(self) -> int:
        """The place in the feed after which the facts of changes that are stored from now on will be."""
        ...

    async def publish(self, facts: Sequence[Fact], *, of: Delivery, again: bool = False) -> None:
        """All but the last in any order, then the last. `again`: some may have been published before."""
        ...


@dataclass(frozen=True, kw_only=True)
class Adapters:
    """Everything outside the delivery-center that it needs, besides the bus. `channels`: email and webhooks;
    `notices`: mail with the limits of notices."""

    deliveries: DeliveryStore
    failing_targets: FailingTargets
    subscriptions: Subscriptions
    suppressions: Suppressions
    feed_counts: FeedCounts
    robots: Robots
    texts: Texts
    files: Files
    channels: Mapping[DeliveryType, Channel[Any]]
    notices: Channel[Any]
    sent_notices: SentNotices
    team_documents: TeamDocuments
    spans: Receiver | None = None


@dataclass(frozen=True, kw_only=True)
class Messaging:
    """Messages and questions to other services. `channels`: processes and notifications."""

    executions: Executions
    publisher: FeedPublisher
    target_events: TargetEvents
    recipients: Recipients
    channels: Mapping[DeliveryType, Channel[Any]]
