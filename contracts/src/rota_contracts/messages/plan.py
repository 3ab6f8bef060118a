"""The plan queue: what a robot is to do later (SC-16, TG-09)."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.model import Instant, Name, Part, Payload


class PlanState(StrEnum):
    PLANNED = "planned"
    STARTED = "started"
    REMOVED = "removed"


class PlanItem(Part):
    """One thing planned. Without `plan_time` it runs at the robot's next cycle (DEC-14)."""

    plan_id: str
    team_id: Name
    member_id: Name
    messages: list[Message]
    plan_time: Instant | None = None
    executor_mode: ExecutorMode | None = None
    locale: str | None = None
    state: PlanState = PlanState.PLANNED
    created_at: Instant
    execution_id: str | None = None
    reason: str = Field(default="", description="removed: why, if it wasn't a person's word")


class PlanAction(StrEnum):
    ADD = "plan.add"
    REMOVE = "plan.remove"
    UPDATE = "plan.update"


class ChangePlan(Part):
    """Question to the scheduler: add to the plan queue, or change or remove what is in it.

    `plan_id` names the item; for `plan.add` it is the sender's own, so adding twice adds once.
    """

    team_id: Name
    member_id: Name
    action: PlanAction
    plan_id: str
    messages: list[Message] = []
    plan_time: Instant | None = None
    executor_mode: ExecutorMode | None = None
    locale: str | None = None


class ChangePlanReply(Part):
    """The item as it is now; None when there is none with this id. `refused` says why nothing was changed."""

    item: PlanItem | None = None
    refused: str = ""


class ListPlans(Part):
    """Question to the scheduler: what is planned for a team, or for one of its robots; soonest first."""

    team_id: Name
    member_id: Name | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class PlanPage(Part):
    """Soonest first; what has no `plan_time` runs with the robot's next cycle."""

    items: list[PlanItem] = []


class PlanChangedV1(Payload):
    """Something was planned, changed, removed or started."""

    plan_id: str
    action: str = Field(description="plan.add, plan.update, plan.remove, or plan.start")
    plan_time: Instant | None = None
    execution_id: str | None = None
    reason: str = Field(default="", description="plan.remove: why, if it wasn't a person's word")
    at: Instant
