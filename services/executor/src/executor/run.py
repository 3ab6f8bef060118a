"""The ledger of one execution: what everybody may see, and what the executor needs to go on with it."""

from datetime import timedelta
from enum import StrEnum

from pydantic import Field

from rota_contracts.execution import Execution
from rota_contracts.model import Instant, Part
from rota_contracts.robot import Robot
from rota_contracts.validation import RulesChecked


class Waiting(StrEnum):
    """Whose answer the execution waits for; meanwhile no worker holds it."""

    NOTHING = ""
    VALIDATION = "validation"
    DELIVERY = "delivery"
    LEARNING = "learning"


class Run(Part):
    """`robot` is pinned: what changes later doesn't touch a run that has begun."""

    execution: Execution
    robot: Robot
    traceparent: str = ""
    recalled: bool = Field(default=False, description="the memory has been asked")
    checked: dict[str, RulesChecked] = Field(default={}, description="task id → verdict of the rules")
    feedback: str = Field(default="", description="why the agent's last answer couldn't be used")
    attempts: int = Field(default=0, description="answers of this step that couldn't be used")
    failures: int = Field(default=0, description="times this step's call failed for a reason that passes")
    waiting: Waiting = Waiting.NOTHING
    asked_at: Instant | None = None
    asks: int = Field(default=0, description="times the request was sent")
    retry_at: Instant | None = None
    cancelled: str | None = Field(default=None, description="why it is to stop")

    @property
    def id(self) -> str:
        return self.execution.execution_id

    @property
    def over(self) -> bool:
        return self.execution.status.over

    def seen(self, **changes: object) -> "Run":
        """The same run with changes in what everybody sees."""
        return self.model_copy(update={"execution": self.execution.model_copy(update=changes)})

    def next_look(self, patience: timedelta) -> Instant | None:
        """When somebody must look at it again if nothing happens before; None when it is over."""
        if self.over:
            return None
        if self.retry_at is not None:
            return self.retry_at
        if self.asked_at is None:
            return self.execution.created_at
        doubled: timedelta = patience * int(2 ** min(max(self.asks - 1, 0), 10))
        return self.asked_at + min(doubled, timedelta(minutes=10))
