"""The delivery log: all deliveries of a team with their targets, and replays of them."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.model import Instant, Name, Part

Limit = Annotated[int, Field(ge=1, le=200)]


class DeliveryState(StrEnum):
    """`pending`: a target is still being tried. `failed`: all are final, and at least one was given up."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class TargetState(StrEnum):
    """The state of one target of a delivery; `retrying` also before the first attempt."""

    DELIVERED = "delivered"
    RETRYING = "retrying"
    FAILED = "failed"


class DeliveryFilter(Part):
    """A filter of a team's deliveries: all fields that are set must match. `since` (inclusive) and `until` (exclusive)
    apply to the instant of the request."""

    team_id: Name
    member_id: Name | None = None
    execution_id: str | None = None
    target_id: str | None = None
    since: Instant | None = None
    until: Instant | None = None


class ListDeliveries(DeliveryFilter):
    """Request to the delivery-center: list the deliveries that match, newest first. `after` is the `next` of the page
    before."""

    state: DeliveryState | None = None
    after: str = ""
    limit: Limit = 50


class TargetSummary(Part):
    """One target of a delivery, as a list shows it."""

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
    """A page of deliveries; `next` is empty on the last one."""

    deliveries: list[DeliverySummary] = []
    next: str = ""


class ReplayDeliveries(DeliveryFilter):
    """Request to the delivery-center: send the deliveries that match again, oldest first, one page per request.

    `targets`: those that were given up, or all that are final. A target that is still being retried is skipped.
    `replay_id` is chosen by the caller: repeated requests send once. `dry_run`: list what would be sent.
    """

    replay_id: str = Field(min_length=1, max_length=200)
    request_id: str | None = None
    targets: Literal["failed", "all"] = "failed"
    dry_run: bool = False
    after: str = ""
    limit: Limit = 100


class ReplayedDelivery(Part):
    """A replay: a new delivery with its own `request_id`."""

    request_id: str
    replay_of: str
    targets: int


class ReplayDeliveriesReply(Part):
    """A page of replays; `next` is empty on the last one."""

    replayed: list[ReplayedDelivery] = []
    next: str = ""


class RetryDeliveries(DeliveryFilter):
    """Request to the delivery-center: attempt what is pending in the deliveries that match within seconds, under the
    same delivery ids, one page per request. Disabled targets are skipped."""

    request_id: str | None = None
    after: str = ""
    limit: Limit = 100


class RetriedDelivery(Part):
    """A delivery whose next attempts were brought forward, and at how many targets."""

    request_id: str
    targets: int


class RetryDeliveriesReply(Part):
    """A page of deliveries that are attempted soon; `next` is empty on the last one."""

    retried: list[RetriedDelivery] = []
    next: str = ""
