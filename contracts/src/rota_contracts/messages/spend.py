"""Spending: the fact about each call of a model, and a team's sums of them."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.usage import Usage
from rota_contracts.model import Instant, Name, Part, Payload


class CallOutcome(StrEnum):
    """`refused`: by its provider. `failed`: it may work later."""

    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"


class ModelCalledV1(Payload):
    """Published when a call of a model has ended. `usage` and `cost` are null where they aren't known."""

    execution_id: str | None = None
    agent: str = ""
    provider: str = ""
    connector: str = ""
    model: str = ""
    outcome: CallOutcome
    usage: Usage | None = None
    cost: float | None = Field(default=None, ge=0)
    currency: str = ""
    seconds: float = Field(default=0.0, ge=0)
    at: Instant


class SpendBy(StrEnum):
    """What spending is summed by."""

    ROBOT = "robot"
    AGENT = "agent"
    MODEL = "model"
    DAY = "day"


class ReadSpend(Part):
    """Request to the executor: what a team's runs that began since then have spent."""

    team_id: Name
    since: Instant
    by: list[SpendBy] = Field(default=[SpendBy.ROBOT], min_length=1, max_length=4)
    member_id: Name | None = None


class SpendRow(Usage):
    """One sum. Of robot, agent, model and day only those are filled in that were asked for."""

    robot: str = ""
    agent: str = ""
    model: str = ""
    day: str = ""
    currency: str = ""
    calls: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0)


class SpendReply(Part):
    """The largest costs first. `unpriced`: calls in these runs whose cost isn't known. `left_out`: further rows."""

    rows: list[SpendRow] = []
    unpriced: int = Field(default=0, ge=0)
    left_out: int = Field(default=0, ge=0)
