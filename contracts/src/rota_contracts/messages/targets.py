"""The places a team's results go to: how they fare, switching them off and on; addresses that get no mail any more."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.model import Instant, Name, Part, Payload


class TargetCondition(StrEnum):
    """`failing`: its last attempt was in vain. `disabled`: nothing is sent there until somebody enables it."""

    HEALTHY = "healthy"
    FAILING = "failing"
    DISABLED = "disabled"


class TargetHealth(Part):
    """One place; `target_id` is the same for all robots of the team. `failures`: attempts in vain in a row."""

    target_id: str
    type: DeliveryType
    target: str = Field(description="address, URL without its query, process or channel")
    condition: TargetCondition
    failures: int = 0
    failing_since: Instant | None = None
    disabled_at: Instant | None = None
    reason: str = Field(default="", description="why it is disabled, or its last error")


class TargetDisabledV1(Payload):
    """A place was switched off: it failed for days, it said that it is gone, or a person did it.

    Its deliveries fail at once, and can be replayed once it is enabled. `member_id` is the robot whose delivery was the
    last straw; `_all_` when a person did it.
    """

    target_id: str
    type: DeliveryType
    target: str
    reason: str
    failing_since: Instant | None = None
    at: Instant


class TargetEnabledV1(Payload):
    """A place that was switched off is sent to again. `member_id` is `_all_`."""

    target_id: str
    type: DeliveryType
    target: str
    at: Instant


class ListTargets(Part):
    """Question to the delivery-center: the team's places that are failing or disabled."""

    team_id: Name


class SwitchTarget(Part):
    """Question to the delivery-center: enable or disable a place."""

    team_id: Name
    target_id: str
    enabled: bool
    reason: str = Field(default="", max_length=500)


class TargetPage(Part):
    """By target; `refused` says why nothing was switched."""

    targets: list[TargetHealth] = []
    refused: str = ""


class Suppression(Part):
    """An address that gets no mail of this team any more. `by`: who said so: `mail server`, or a key's name."""

    team_id: Name
    address: str = Field(min_length=3, max_length=320, description="in lower case")
    reason: str = ""
    by: str = ""
    created_at: Instant


class Suppress(Part):
    """Question to the delivery-center: no more mail to this address."""

    team_id: Name
    address: str = Field(min_length=3, max_length=320)
    reason: str = Field(default="", max_length=500)
    by: str = Field(default="", max_length=100)


class Unsuppress(Part):
    """Question to the delivery-center: mail to this address is welcome again."""

    team_id: Name
    address: str = Field(min_length=3, max_length=320)


class ListSuppressions(Part):
    """Question to the delivery-center: who gets no mail? From the address behind `after` on."""

    team_id: Name
    after: str = ""
    limit: int = Field(default=200, ge=1, le=1000)


class SuppressionPage(Part):
    """By address; `next` is empty when there are no more. `refused` says why nothing was changed."""

    suppressions: list[Suppression] = []
    next: str = ""
    refused: str = ""
