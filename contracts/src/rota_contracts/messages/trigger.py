"""What wakes a robot: a clock, a person, an event, or an answer from outside."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from rota_contracts.model import Instant, Json, Part, Payload
from rota_contracts.robots.clock import ClockContext


class TriggerType(StrEnum):
    """TG-01. The configuration key of `human` is `intervene` (DEC-19)."""

    CLOCK = "clock"
    HUMAN = "human"
    EVENT = "event"
    CALLBACK = "callback"


class InterventionAction(StrEnum):
    """TG-07: what a person may ask of a robot."""

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
    """EX-07. `sandbox` behaves like `dryrun` where no sandbox runtime is configured (DEC-28)."""

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
    """What came with the trigger; which fields are set depends on its type."""

    action: InterventionAction | None = Field(default=None, description="human: what the person asks for")
    messages: list[Message] = Field(default=[], description="human: what the person said")
    source: str | None = Field(default=None, description="event: the name of the source it came through")
    event_type: str | None = Field(default=None, description="event: for example lead.created")
    data: dict[str, Json] = Field(default={}, description="event: the event's own data")
    clock: ClockContext | None = Field(default=None, description="clock: what time it is for the robot")


class TriggerReceivedV1(Payload):
    """Somebody or something wants a robot to run. Stored before its sender is told so."""

    trigger_id: str
    type: TriggerType
    input: TriggerInput
    received_at: Instant
    executor_mode: ExecutorMode | None = Field(default=None, description="overrides the robot's own mode (TG-14)")
    locale: str | None = None
    robot_rev: int | None = Field(default=None, description="revision of the robot that the gateway knew")
    scheduled_at: Instant | None = Field(default=None, description="clock: when it was due")


class TriggerAdmittedV1(Payload):
    """The trigger has its place in the scheduler's queue; `execution_id` will be its execution."""

    trigger_id: str
    execution_id: str
    type: TriggerType
    admitted_at: Instant


class RejectReason(StrEnum):
    """Why a trigger starts nothing. The message beside it says it in words."""

    NO_ROBOT = "no_robot"
    NOT_AUTONOMOUS = "not_autonomous"
    TRIGGER_DISABLED = "trigger_disabled"
    ACTION_NOT_ALLOWED = "action_not_allowed"
    NOT_ACTIVE = "not_active"
    QUEUE_FULL = "queue_full"
    ROBOT_DELETED = "robot_deleted"
    STOPPED = "stopped"


class MissReason(StrEnum):
    """Why a run that was due by the clock isn't made up for."""

    SKIPPED = "skipped"
    SUPERSEDED = "superseded"
    TOO_OLD = "too_old"


class TriggerMissedV1(Payload):
    """Runs were due by the clock while no scheduler could start them, and aren't made up for.

    There were `count` of them, from `first` to `last`.
    """

    first: Instant
    last: Instant
    count: int = Field(ge=1)
    reason: MissReason
    message: str
    missed_at: Instant


class TriggerRejectedV1(Payload):
    """The trigger starts nothing, and this is why."""

    trigger_id: str
    type: TriggerType
    reason: RejectReason
    message: str
    rejected_at: Instant
