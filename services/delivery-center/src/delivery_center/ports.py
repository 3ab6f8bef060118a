"""What the delivery-center needs from outside, in its own words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from delivery_center.domain import Delivery
from delivery_center.facts import Fact
from rota_common.errors import Permanent, Transient
from rota_contracts.delivery import DeliveryContent, DeliveryContext, DeliveryLeave
from rota_contracts.model import Json
from rota_contracts.notification import Subscription
from rota_contracts.robot import Robot
from rota_contracts.text import Text

C_contra = TypeVar("C_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Parcel:
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


@dataclass(frozen=True, slots=True)
class Sent:
    """Who received it, and what the receiver said."""

    recipients: tuple[str, ...] = ()
    details: Json = None


class TriedInVain(Transient):
    """A Transient with what the receiver said."""

    def __init__(self, reason: str, *, after: float | None = None, details: Json = None) -> None:
        super().__init__(reason, after=after)
        self.details = details


class Rejected(Permanent):
    """A Permanent with what the receiver said."""

    def __init__(self, reason: str, *, details: Json = None) -> None:
        super().__init__(reason)
        self.details = details


class Channel(Protocol[C_contra]):
    """One way to reach a target."""

    async def send(self, target: C_contra, parcel: Parcel) -> Sent:
        """Raise Transient if it may work later, Permanent if it never will. A repeat must be recognisable by the
        receiver: it carries the same `delivery_id`."""
        ...


class Deliveries(Protocol):
    """The deliveries of all teams."""

    async def find(self, request_id: str) -> Delivery | None: ...

    async def find_of(self, team: str, execution_id: str) -> Delivery | None:
        """The delivery of this team's execution; the newest if there are several."""
        ...

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


class Subscriptions(Protocol):
    """Who wants the notifications of a team's channels."""

    async def add(self, subscription: Subscription) -> None:
        """Keep it, unless it is kept already."""
        ...

    async def remove(self, team: str, channel: str, subscriber: str) -> None: ...

    async def of(self, team: str, channel: str | None = None) -> list[Subscription]:
        """By channel and subscriber; with `channel` those of it alone. Raise Transient if the store is away."""
        ...


class Robots(Protocol):
    async def find(self, team: str, member: str) -> Robot | None: ...


class Executions(Protocol):
    async def may_deliver(self, team: str, execution_id: str) -> DeliveryLeave:
        """May the result of this execution go out now? Raise Transient if nobody can say."""
        ...


class Texts(Protocol):
    async def read(self, text: Text) -> str:
        """Raise Permanent if the text is not what was stored."""
        ...


class Bulletin(Protocol):
    """Where facts are published."""

    async def publish(self, facts: Sequence[Fact], *, of: Delivery) -> None:
        """All but the last in any order, then the last."""
        ...
