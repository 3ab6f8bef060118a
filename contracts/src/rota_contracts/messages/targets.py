"""Delivery targets: their health, enabling and disabling them; suppressed mail addresses."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.model import Instant, Name, Part, Payload


class TargetCondition(StrEnum):
    """`failing`: the last attempt failed. `disabled`: nothing is sent until it is enabled."""

    HEALTHY = "healthy"
    FAILING = "failing"
    DISABLED = "disabled"


class TargetHealth(Part):
    """The health of a target, shared by all robots of the team. `failures` counts consecutive failed attempts."""

    target_id: str
    type: DeliveryType
    target: str = Field(description="address, URL without its query, process or channel")
    condition: TargetCondition
    failures: int = 0
    failing_since: Instant | None = None
    disabled_at: Instant | None = None
    reason: str = Field(default="", description="why it is disabled, or its last error")


class TargetDisabledV1(Payload):
    """Published when a target is disabled: after failing for days, by its own answer "gone", or by a person.

    Its deliveries fail at once, and can be replayed once it is enabled. `member_id` is the robot of the last failed
    delivery; `_all_` if a person disabled it.
    """

    target_id: str
    type: DeliveryType
    target: str
    reason: str
    failing_since: Instant | None = None
    at: Instant


class TargetEnabledV1(Payload):
    """Published when a disabled target is enabled again. `member_id` is `_all_`."""

    target_id: str
    type: DeliveryType
    target: str
    at: Instant


class ListTargets(Part):
    """Request to the delivery-center: list the team's targets that are failing or disabled."""

    team_id: Name


class SwitchTarget(Part):
    """Request to the delivery-center: enable or disable a target."""

    team_id: Name
    target_id: str
    enabled: bool
    reason: str = Field(default="", max_length=500)


class TargetPage(Part):
    """Targets in the order of their address; `refused` is the reason if nothing was changed."""

    targets: list[TargetHealth] = []
    refused: str = ""


class Suppression(Part):
    """A suppressed address: it gets no mail of this team. `by`: `mail server`, or the name of a key."""

    team_id: Name
    address: str = Field(min_length=3, max_length=320, description="in lower case")
    reason: str = ""
    by: str = ""
    created_at: Instant


class Suppress(Part):
    """Request to the delivery-center: suppress mail to an address."""

    team_id: Name
    address: str = Field(min_length=3, max_length=320)
    reason: str = Field(default="", max_length=500)
    by: str = Field(default="", max_length=100)


class Unsuppress(Part):
    """Request to the delivery-center: allow mail to an address again."""

    team_id: Name
    address: str = Field(min_length=3, max_length=320)


class ListSuppressions(Part):
    """Request to the delivery-center: list the suppressed addresses that follow `after`."""

    team_id: Name
    after: str = ""
    limit: int = Field(default=200, ge=1, le=1000)


class SuppressionPage(Part):
    """Suppressions by address; `next` is empty on the last page. `refused` is the reason if nothing was changed."""

    suppressions: list[Suppression] = []
    next: str = ""
    refused: str = ""
