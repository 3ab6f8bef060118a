"""The plan queue: work that a robot does later."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.model import Instant, Name, Part, Payload
from rota_contracts.roles import Role


class PlanState(StrEnum):
    PLANNED = "planned"
    STARTED = "started"
    REMOVED = "removed"


class PlanItem(Part):
    """One item of the plan queue. Without `plan_time` it runs at the robot's next cycle."""

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
    reason: str = Field(default="", description="removed: the reason, unless a person removed it")
    role: Role = Field(default=Role.MEMBER, description="the least role of the keys that added and changed it")


class PlanAction(StrEnum):
    ADD = "plan.add"
    REMOVE = "plan.remove"
    UPDATE = "plan.update"


class ChangePlan(Part):
    """Request to the scheduler: add an item to the plan queue, or change or remove one.

    `plan_id` names the item; for `plan.add` the caller chooses it, so that adding twice adds once.
    """

    team_id: Name
    member_id: Name
    action: PlanAction
    plan_id: str
    messages: list[Message] = []
    plan_time: Instant | None = None
    executor_mode: ExecutorMode | None = None
    locale: str | None = None
    role: Role = Field(default=Role.MEMBER, description="the role of the key")


class ChangePlanReply(Part):
    """The item as it is now; null if there is none. `refused` is the reason if nothing was changed."""

    item: PlanItem | None = None
    refused: str = ""


class ListPlans(Part):
    """Request to the scheduler: list the plan queue of a team, or of one of its robots."""

    team_id: Name
    member_id: Name | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class PlanPage(Part):
    """The items, soonest first; one without `plan_time` runs at the robot's next cycle."""

    items: list[PlanItem] = []


class PlanChangedV1(Payload):
    """Published when an item of the plan queue is added, changed, removed or started."""

    plan_id: str
    action: str = Field(description="plan.add, plan.update, plan.remove, or plan.start")
    plan_time: Instant | None = None
    execution_id: str | None = None
    reason: str = Field(default="", description="plan.remove: the reason, unless a person removed it")
    at: Instant
