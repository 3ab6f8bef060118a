"""Changing what runs: pausing, resuming and stopping, and people's interventions (TG-06 to TG-10, TG-16, F11)."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from rota_contracts.messages.trigger import InterventionAction, Message
from rota_contracts.messages.validation import ValidationRule
from rota_contracts.model import Instant, Json, Name, Part, Payload


class ControlAction(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"


class TaskChange(Part):
    """What an intervention says of a task. `task.add` makes a task of it; `task.update` changes the fields that are
    set; `task.cancel` needs `id` alone."""

    id: str | None = None
    description: str | None = None
    executor_type: str | None = Field(default=None, description="assistant, mcp or process")
    executor_id: str | None = None
    mcp_server: str | None = None
    mcp_tool: str | None = None
    args: list[Json] | None = None
    expected_output: str | None = None
    validation_rules: list[ValidationRule] | None = None


class Control(Part):
    """Question to the executor: pause, resume or stop one execution, all of a robot, or all of a team."""

    request_id: str
    team_id: Name
    member_id: Name | None = Field(default=None, description="None = every robot of the team")
    execution_id: str | None = Field(default=None, description="None = every execution of the robot or team")
    action: ControlAction
    reason: str = Field(default="", max_length=500)


class ControlReply(Part):
    """The executions that the word was given to; those that were over already are not among them."""

    execution_ids: list[str]
    unknown: bool = Field(default=False, description="an execution was named, and no executor has it (yet)")
    over: str | None = Field(default=None, description="an execution was named that is over: its status")


class Intervene(Part):
    """Question to the executor: change a running execution; without `execution_id`, the robot's only one
    (DEC-35)."""

    intervention_id: str
    team_id: Name
    member_id: Name
    execution_id: str | None = None
    action: InterventionAction
    messages: list[Message] = []
    task: TaskChange | None = None
    goal: str | None = Field(default=None, description='which goal: as the plan names it, for example "Goal 2"')

    @model_validator(mode="after")
    def _has_what_its_action_needs(self) -> Self:
        if problem := missing(self.action, self.messages, self.task, self.goal):
            raise ValueError(problem)
        return self


def says_something(messages: list[Message]) -> bool:
    """Is there a word, an image or a file in them?"""
    return any(message.content.strip() if isinstance(message.content, str) else message.content for message in messages)


def missing(
    action: InterventionAction, messages: list[Message], task: TaskChange | None, goal: str | None
) -> str | None:
    """What an intervention still needs (TG-10), in words for whoever sends it; None if it is complete."""
    words = says_something(messages)
    described = task is not None and bool(task.description)
    match action:
        case InterventionAction.TASK_ADD if not words and not described:
            return "task.add needs a message, or task.description, that says what is to be done"
        case InterventionAction.TASK_CANCEL | InterventionAction.TASK_UPDATE if task is None or not task.id:
            return f"{action} needs task.id: the id of the task in the execution's plan"
        case InterventionAction.TASK_UPDATE if not words and task is not None and task == TaskChange(id=task.id):
            return "task.update needs a message, or fields of task to change"
        case InterventionAction.GOAL_ADD | InterventionAction.GOAL_ADJUST | InterventionAction.INSTRUCT if not words:
            return f"{action} needs a message that says what is wanted"
        case InterventionAction.GOAL_COMPLETE | InterventionAction.GOAL_CANCEL if not goal and not words:
            return f'{action} needs goal (for example "Goal 2"), or a message that names it'
    return None


class InterveneReply(Part):
    """`execution_id`: whom it was given to. Otherwise `candidates` are the robot's executions that are under way: none,
    or several."""

    execution_id: str | None = None
    candidates: list[str] = []
    over: str | None = Field(default=None, description="the execution that was named is over: its status")


class Withdraw(Part):
    """Question to the scheduler: take back what is waiting for a slot, of an execution, a robot or a team."""

    team_id: Name
    member_id: Name | None = None
    execution_id: str | None = None
    reason: str = ""


class WithdrawReply(Part):
    """What will not start. `admitted`: got their slot already and are about to start: stop them at the executor."""

    execution_ids: list[str] = []
    admitted: list[str] = []


class ExecutionIntervenedV1(Payload):
    """A person's word has been stored in an execution, which heeds it at its next step."""

    intervention_id: str
    execution_id: str
    action: str = Field(description="an intervention's action, or pause, resume, stop")
    text: str = ""
    at: Instant


class ControlGivenV1(Payload):
    """Heard by every executor and delivery-center, whoever has the execution in hand. `member_id` may be `_all_`."""

    action: str = Field(description="pause, resume, stop, or intervene")
    execution_ids: list[str]
    reason: str = ""
    at: Instant
