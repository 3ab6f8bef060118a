"""Triggers: a clock, a person, an event or a callback that starts a robot's run."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from rota_contracts.model import Instant, Json, Part, Payload
from rota_contracts.robots.clock import ClockContext
from rota_contracts.roles import Role


class TriggerType(StrEnum):
    """The kind of a trigger. In a robot's definition, `human` is configured under the key `intervene`."""

    CLOCK = "clock"
    HUMAN = "human"
    EVENT = "event"
    CALLBACK = "callback"

    @property
    def is_event(self) -> bool:
        """Accepted from outside: its sender has the answer that it will run."""
        return self in (TriggerType.EVENT, TriggerType.CALLBACK)


class InterventionAction(StrEnum):
    """The actions that a person may request of a robot."""

    TASK_ADD = "task.add"
    TASK_CANCEL = "task.cancel"
    TASK_UPDATE = "task.update"
    GOAL_ADJUST = "goal.adjust"
    GOAL_ADD = "goal.add"
    GOAL_COMPLETE = "goal.complete"
    GOAL_CANCEL = "goal.cancel"
    PLAN_ADD = "plan.add"
    PLAN_REMOVE = "plan.remove"
    PLAN_UPDATE = "plan.update"
    INSTRUCT = "instruct"


class ExecutorMode(StrEnum):
    """How a run acts on the outside. `sandbox` behaves like `dryrun` where no sandbox runtime is configured."""

    STANDARD = "standard"
    DRYRUN = "dryrun"
    SANDBOX = "sandbox"


class Message(Part):
    """One message of a conversation, in OpenAI's form: text, or a list of parts (text, images, files)."""

    role: Literal["system", "user", "assistant", "tool"] = "user"
    content: str | list[dict[str, Json]]

    def text(self) -> str:
        """The textual parts alone, joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(str(part.get("text", "")) for part in self.content if part.get("type") == "text")


class TriggerInput(Part):
    """The input of a trigger; the fields that are set depend on its type."""

    action: InterventionAction | None = Field(default=None, description="human: the requested action")
    messages: list[Message] = Field(default=[], description="human: the person's messages")
    follows: str | None = Field(default=None, description="human: the execution whose work this request goes on with")
    source: str | None = Field(default=None, description="event: the name of its source")
    event_type: str | None = Field(default=None, description="event: for example lead.created")
    event_id: str | None = Field(default=None, description="event: the id that its sender gave it")
    data: dict[str, Json] = Field(default={}, description="event: the event's own data")
    clock: ClockContext | None = Field(default=None, description="clock: the robot's local time")


class TriggerReceivedV1(Payload):
    """Published when the gateway accepts a trigger for a robot, before the sender is answered."""

    trigger_id: str
    type: TriggerType
    input: TriggerInput
    received_at: Instant
    executor_mode: ExecutorMode | None = Field(default=None, description="overrides the robot's own mode")
    locale: str | None = None
    robot_rev: int | None = Field(default=None, description="the robot's revision at the gateway")
    scheduled_at: Instant | None = Field(default=None, description="clock, or planned for a time: when it was due")
    retry_of: str | None = Field(default=None, description="the rejected or failed execution that is retried")
    role: Role | None = Field(default=None, description="the role of the key that asked for it; null: none did")

    @property
    def highest_role(self) -> Role:
        """The role that its run acts in at most. A person's trigger without one is of an older gateway."""
        return self.role or (Role.MEMBER if self.type is TriggerType.HUMAN else Role.OWNER)


class TriggerAdmittedV1(Payload):
    """Published when the scheduler has queued a trigger; `execution_id` is the execution that it will start."""

    trigger_id: str
    execution_id: str
    type: TriggerType
    admitted_at: Instant


class RejectReason(StrEnum):
    """Why a trigger starts nothing, for programs; the message beside it is for people."""

    NO_ROBOT = "no_robot"
    NOT_AUTONOMOUS = "not_autonomous"
    TRIGGER_DISABLED = "trigger_disabled"
    ACTION_NOT_ALLOWED = "action_not_allowed"
    NOT_ACTIVE = "not_active"
    QUEUE_FULL = "queue_full"
    ROBOT_DELETED = "robot_deleted"
    STOPPED = "stopped"
    EXPIRED = "expired"
    FAILED = "failed"


class MissReason(StrEnum):
    """Why a missed run of the clock is not made up for."""

    SKIPPED = "skipped"
    SUPERSEDED = "superseded"
    TOO_OLD = "too_old"


class TriggerMissedV1(Payload):
    """Published when runs that were due while no scheduler could start them are not made up for.

    `count` of them, from `first` to `last`.
    """

    first: Instant
    last: Instant
    count: int = Field(ge=1)
    reason: MissReason
    message: str
    missed_at: Instant


class TriggerRejectedV1(Payload):
    """Published when the scheduler rejects a trigger, with the reason."""

    trigger_id: str
    type: TriggerType
    reason: RejectReason
    message: str
    rejected_at: Instant
