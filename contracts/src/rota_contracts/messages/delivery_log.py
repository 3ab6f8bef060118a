"""The ledger of deliveries: what went where and how it fared, and sending it once more on purpose (F5)."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.model import Instant, Name, Part

Limit = Annotated[int, Field(ge=1, le=200)]


class DeliveryState(StrEnum):
    """`pending`: a target is still being tried. `failed`: none is, and one at least was given up."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class TargetState(StrEnum):
    """`retrying` also before its first attempt."""

    DELIVERED = "delivered"
    RETRYING = "retrying"
    FAILED = "failed"


class DeliveryFilter(Part):
    """Which deliveries of a team; what isn't set doesn't count. By the instant they were asked for: from `since` on,
    before `until`."""

    team_id: Name
    member_id: Name | None = None
    execution_id: str | None = None
    target_id: str | None = None
    since: Instant | None = None
    until: Instant | None = None


class ListDeliveries(DeliveryFilter):
    """Question to the delivery-center: the deliveries that fit, newest first. `after` is the `next` of the answer
    before."""

    state: DeliveryState | None = None
    after: str = ""
    limit: Limit = 50


class TargetSummary(Part):
    """How a delivery stands with one of its targets."""

    delivery_id: str
    target_id: str
    type: DeliveryType
    target: str = Field(description="address, URL without its query, process or channel")
    state: TargetState
    attempts: int
    error: str | None = None
    next_attempt_at: Instant | None = None


class DeliverySummary(Part):
    """One delivery, as a list shows it."""

    request_id: str
    member_id: Name
    execution_id: str
    created_at: Instant
    state: DeliveryState
    summary: str
    replay_of: str | None = None
    targets: list[TargetSummary] = []


class DeliveryPage(Part):
    """`next` is empty when there are no more."""

    deliveries: list[DeliverySummary] = []
    next: str = ""


class ReplayDeliveries(DeliveryFilter):
    """Question to the delivery-center: send what fits once more, oldest first; a page of it, ask on with `next`.

    `targets`: those that were given up, or all that are final. What is still being tried is left alone. `replay_id` is
    the asker's: asked twice, everything is sent once. `dry_run`: only say what would be sent.
    """

    replay_id: str = Field(min_length=1, max_length=200)
    request_id: str | None = None
    targets: Literal["failed", "all"] = "failed"
    dry_run: bool = False
    after: str = ""
    limit: Limit = 100


class ReplayedDelivery(Part):
    """A replay is a delivery of its own, with a `request_id` of its own."""

    request_id: str
    replay_of: str
    targets: int


class ReplayDeliveriesReply(Part):
    """`next` is empty when all is done."""

    replayed: list[ReplayedDelivery] = []
    next: str = ""
