"""Control of running executions: pause, resume, stop, and interventions by people."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from rota_contracts.messages.trigger import InterventionAction, Message
from rota_contracts.messages.validation import ValidationRule
from rota_contracts.model import Instant, Json, Name, Part, Payload
from rota_contracts.roles import Role

INTERVENTION_LIMIT = 256 * 1024
"""Bytes of JSON of one intervention's messages and task."""


class ControlAction(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"


class TaskChange(Part):
    """The task of an intervention. `task.add` creates it; `task.update` changes the fields that are set; `task.cancel`
    needs `id` alone."""

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
    """Request to the executor: pause, resume or stop one execution, all of a robot, or all of a team."""

    request_id: str
    team_id: Name
    member_id: Name | None = Field(default=None, description="null = every robot of the team")
    execution_id: str | None = Field(default=None, description="null = every execution of the robot or team")
    action: ControlAction
    reason: str = Field(default="", max_length=500)


class ControlReply(Part):
    """The executions that were signalled; finished ones are not among them."""

    execution_ids: list[str]
    unknown: bool = Field(default=False, description="an execution was named that the executor does not have (yet)")
    over: str | None = Field(default=None, description="the status of the named execution, if it has finished")
    refused: str = Field(default="", description="why the named execution takes no such signal")


class Intervene(Part):
    """Request to the executor: change a running execution; without `execution_id`, the robot's only one."""

    intervention_id: str
    team_id: Name
    member_id: Name
    execution_id: str | None = None
    action: InterventionAction
    messages: list[Message] = []
    task: TaskChange | None = None
    goal: str | None = Field(default=None, description='the goal as the plan names it, for example "Goal 2"')
    starts: list[str] = Field(default=[], description="fields that only a run which starts can use: none may run then")
    role: Role = Field(default=Role.MEMBER, description="the role of the key: the run acts in no higher one afterwards")

    @model_validator(mode="after")
    def _has_what_its_action_needs(self) -> Self:
        if problem := missing(self.action, self.messages, self.task, self.goal):
            raise ValueError(problem)
        return self


def has_content(messages: list[Message]) -> bool:
    """True if a message holds text, an image or a file."""
    return any(message.content.strip() if isinstance(message.content, str) else message.content for message in messages)


def missing(
    action: InterventionAction, messages: list[Message], task: TaskChange | None, goal: str | None
) -> str | None:
    """The error message for an incomplete intervention; None if it is complete."""
    words = has_content(messages)
    described = task is not None and bool(task.description)
    match action:
        case InterventionAction.TASK_ADD if not words and not described:
            return "task.add needs a message, or task.description, that describes the task"
        case InterventionAction.TASK_CANCEL | InterventionAction.TASK_UPDATE if task is None or not task.id:
            return f"{action} needs task.id: the id of the task in the execution's plan"
        case InterventionAction.TASK_UPDATE if not words and task is not None and task == TaskChange(id=task.id):
            return "task.update needs a message, or fields of task to change"
        case InterventionAction.GOAL_ADD | InterventionAction.GOAL_ADJUST | InterventionAction.INSTRUCT if not words:
            return f"{action} needs a message that describes the change"
        case InterventionAction.GOAL_COMPLETE | InterventionAction.GOAL_CANCEL if not goal and not words:
            return f'{action} needs goal (for example "Goal 2"), or a message that names it'
    return None


class InterveneReply(Part):
    """`execution_id` is the execution that was signalled. Otherwise `candidates` are the robot's running executions:
    none, or several."""

    execution_id: str | None = None
    candidates: list[str] = []
    over: str | None = Field(default=None, description="the status of the named execution, if it has finished")
    refused: str = Field(default="", description="why the execution takes no more interventions")


class Withdraw(Part):
    """Request to the scheduler: cancel what is queued for a slot, of an execution, a robot or a team."""

    team_id: Name
    member_id: Name | None = None
    execution_id: str | None = None
    reason: str = ""


class WithdrawReply(Part):
    """The cancelled executions. Those in `admitted` have their slot already: stop them at the executor."""

    execution_ids: list[str] = []
    admitted: list[str] = []


class ExecutionIntervenedV1(Payload):
    """Published when a signal is stored in an execution, which applies it at its next step."""

    intervention_id: str
    execution_id: str
    action: str = Field(description="an intervention's action, or pause, resume, stop")
    text: str = ""
    at: Instant


class ControlGivenV1(Payload):
    """Published to every executor and delivery-center when executions are signalled. `member_id` may be `_all_`."""

    action: str = Field(description="pause, resume, stop, or intervene")
    execution_ids: list[str]
    reason: str = ""
    at: Instant
