"""Executions: the public view of one run of a robot, and the facts of its life cycle."""

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from rota_contracts.messages.conversation import Turn
from rota_contracts.messages.delivery import DeliveryContent, DeliveryResult, DeliveryType
from rota_contracts.messages.learning import Lesson
from rota_contracts.messages.memory import SharedEntry
from rota_contracts.messages.quarantine import FailedResult, Quarantined
from rota_contracts.messages.run_history import Intervention, PendingQuestion, PhaseTime
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode, Message, RejectReason, TriggerReceivedV1
from rota_contracts.messages.usage import ModelUsage
from rota_contracts.messages.validation import ValidationResult, ValidationRule
from rota_contracts.model import Instant, Json, Name, Part, Payload
from rota_contracts.robots.clock import ClockContext
from rota_contracts.robots.robot import Phase
from rota_contracts.run_status import ExecStatus as ExecStatus
from rota_contracts.run_status import TriggerState as TriggerState


class TaskSource(StrEnum):
    AUTO = "auto"
    HUMAN = "human"
    EVENT = "event"


class ExecutorType(StrEnum):
    ASSISTANT = "assistant"
    MCP = "mcp"
    PROCESS = "process"


class InspirationReport(Part):
    """The output of the phase `inspiration`: Summary, Highlights, Opportunities, Risks, World News, Pending."""

    clock: ClockContext
    content: str


class DeliveryTarget(Part):
    """A suggestion of the goals agent. It never overrides the robot's delivery preferences."""

    type: DeliveryType | None = None
    recipients: list[str] = []
    format: Literal["markdown", "html", "json", "text"] = "markdown"
    template: str | None = None
    options: dict[str, Json] = {}


class Goals(Part):
    """The output of the phase `goals`."""

    content: str = Field(min_length=1, description="markdown")
    delivery: DeliveryTarget | None = None


class Task(Part):
    """One step of the plan, with the criteria that its result must meet."""

    id: str
    description: str = ""
    messages: list[Message] = []
    goal_ref: str = ""
    source: TaskSource = TaskSource.AUTO
    executor_type: ExecutorType = ExecutorType.ASSISTANT
    executor_id: str
    mcp_server: str | None = None
    mcp_tool: str | None = None
    args: list[Json] = []
    idempotent: bool = Field(default=False, description="mcp: the tool may be called again after a crash in it")
    order: int = 0
    expected_output: str = ""
    validation_rules: list[ValidationRule] = []

    @model_validator(mode="after")
    def _mcp_needs_three_fields(self) -> Self:
        """Server, tool and `executor_id` must agree."""
        if self.executor_type is ExecutorType.MCP:
            if not (self.mcp_server and self.mcp_tool):
                raise ValueError("a task of type mcp needs mcp_server and mcp_tool besides executor_id")
            if self.executor_id != f"{self.mcp_server}.{self.mcp_tool}":
                raise ValueError(f"expected executor_id {self.mcp_server}.{self.mcp_tool}, not {self.executor_id}")
        return self


class TaskStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    VALIDATING = "validating"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"


class TaskResult(Part):
    """The result of a task. `step_id` is the idempotency key of its call; `output` is that of its last turn."""

    task_id: str
    step_id: str
    status: TaskStatus
    output: Text | None = None
    validation: ValidationResult | None = None
    error: str | None = None
    turns: list[Turn] = []
    started_at: Instant | None = None
    finished_at: Instant | None = None


class LearningResult(Part):
    """The output of the phase `learning`."""

    lessons: list[Lesson] = []
    skipped: str | None = None
    error: str | None = None


class Progress(Part):
    tasks_total: int = 0
    tasks_done: int = 0
    text: str = ""


class Execution(Part):
    """The stored record of one run, phase by phase."""

    execution_id: str
    team_id: Name
    member_id: Name
    robot_rev: int = Field(description="the revision of the robot that this run uses")
    trigger: TriggerReceivedV1
    executor_mode: ExecutorMode
    status: ExecStatus
    phase: Phase
    inspiration: InspirationReport | None = None
    recalled: list[Lesson] = Field(default=[], description="lessons of earlier runs that this run was given")
    known: list[SharedEntry] = Field(default=[], description="shared knowledge that this run was given")
    rehearsed: bool = Field(
        default=False, description="canned answers stand in for a model: no model is given what came of it"
    )
    goals: Goals | None = None
    tasks: list[Task] | None = None
    results: list[TaskResult] = []
    content: DeliveryContent | None = Field(default=None, description="the content to deliver")
    delivery: DeliveryResult | None = None
    learning: LearningResult | None = None
    error: str | None = None
    notes: list[str] = Field(default=[], description="notes for the owner, for example how the plan was repaired")
    created_at: Instant
    started_at: Instant | None = None
    finished_at: Instant | None = None
    progress: Progress = Progress()
    phases: list[PhaseTime] = []
    interventions: list[Intervention] = []
    question: PendingQuestion | None = Field(default=None, description="status waiting: the question to a person")
    deadline_at: Instant | None = Field(default=None, description="when it is ended if it is still working")
    skipped: str | None = Field(default=None, description="why the run had nothing to do")
    usage: ModelUsage = Field(default=ModelUsage(), description="calls of models by its agents, without judges")
    delayed: str | None = Field(default=None, description="what its step waits for, as long as it does")
    quarantine: list[Quarantined] = Field(default=[], description="its results that failed validation, once it is over")


class ExecutionSummary(Part):
    """One execution in a list."""

    execution_id: str
    team_id: Name
    member_id: Name
    trigger_type: str
    status: ExecStatus
    phase: Phase
    error: str | None = None
    created_at: Instant
    finished_at: Instant | None = None
    summary: str = ""


class ReadExecution(Part):
    """Request to the executor: read the record of one run."""

    team_id: Name
    execution_id: str


class ExecutionReply(Part):
    """`execution` is null if the team has no such execution."""

    execution: Execution | None = None


class ListExecutions(Part):
    """Request to the executor: list the runs of a team, or of one of its robots, newest first. `after` is the `next`
    of the page before, and goes before `page`."""

    team_id: Name
    member_id: Name | None = None
    status: ExecStatus | None = None
    page: int = Field(default=1, ge=1)
    page_size: int = Field(default=10, ge=1, le=100)
    after: str = ""


class ExecutionPage(Part):
    """One page of a list of runs; `next` is empty on the last one. `total` counts all pages up to 10,000 runs:
    `total_capped` says that there are at least so many. With `after` nothing is counted."""

    executions: list[ExecutionSummary]
    total: int
    page: int
    page_size: int
    next: str = ""
    total_capped: bool = False


class ExecutionRequestedV1(Payload):
    """Published when the scheduler grants an execution a slot; the executor runs it."""

    execution_id: str
    trigger: TriggerReceivedV1
    requested_at: Instant
    grant: int = Field(default=0, ge=0, description="how often it was parked before; 0 = it begins")


class ExecutionStartedV1(Payload):
    """Published when an executor takes up an execution, once for each granted slot."""

    execution_id: str
    started_at: Instant
    grant: int = Field(default=0, ge=0, description="as in the request; 0 = it begins, n = it goes on")


class ExecutionFinishedV1(Payload):
    """Published when a run has ended and its slot is free."""

    execution_id: str
    trigger_id: str
    status: ExecStatus
    error: str | None = None
    finished_at: Instant
    quarantined: list[FailedResult] = Field(
        default=[], description="results that failed validation and wait for a person: the first 20"
    )


class ReadTrigger(Part):
    """Request to the scheduler: read the state of a trigger."""

    team_id: Name
    trigger_id: str
    execution_id: str | None = Field(default=None, description="reads the trigger of this execution instead")
    with_trigger: bool = Field(default=False, description="the reply carries the trigger itself")


class TriggerReply(Part):
    """The state of a trigger; `message` is the reason if it was rejected."""

    trigger_id: str
    state: TriggerState
    execution_id: str | None = None
    status: ExecStatus | None = Field(default=None, description="once the execution has ended")
    message: str = ""
    reason: RejectReason | None = Field(default=None, description="rejected: the reason, for programs")
    trigger: TriggerReceivedV1 | None = Field(default=None, description="the trigger itself, if it was asked for")


def excerpt(value: Any, limit: int = 500) -> str:
    """The beginning of a value's text, for people."""
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
