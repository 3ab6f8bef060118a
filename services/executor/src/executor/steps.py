"""What can happen next in an execution, and what can come of it. Plain data; no I/O."""

from dataclasses import dataclass

from rota_contracts.delivery import DeliveryContent, DeliveryResult
from rota_contracts.execution import ExecStatus, Goals, InspirationReport, LearningResult, Task
from rota_contracts.learning import Lesson
from rota_contracts.robot import Phase
from rota_contracts.text import Text
from rota_contracts.validation import RulesChecked, ValidationResult

# Steps: what the shell must do now.


@dataclass(frozen=True)
class RecallLessons:
    """Ask the memory what earlier runs taught."""

    query: str


@dataclass(frozen=True)
class AskAgent:
    """Let the phase's agent answer; `step_id` is the same each time this very step is tried."""

    phase: Phase
    step_id: str


@dataclass(frozen=True)
class RunTurn:
    """Let a task's assistant do the task."""

    task: Task
    step_id: str


@dataclass(frozen=True)
class CheckRules:
    """Ask the validator's rule layer about a task's output."""

    task: Task
    output: Text


@dataclass(frozen=True)
class RequestVerdict:
    """Ask the validator's semantic layer; the answer is an event."""

    task: Task
    output: Text
    validation_id: str


@dataclass(frozen=True)
class RequestDelivery:
    request_id: str


@dataclass(frozen=True)
class RequestLearning:
    pass


@dataclass(frozen=True)
class Finish:
    status: ExecStatus


@dataclass(frozen=True)
class Done:
    """It is over: nothing to do but say so again to whoever asks."""


Question = RequestVerdict | RequestDelivery | RequestLearning
"""Steps that are another service's work: the run lets go of its worker and waits for the event."""

Work = RecallLessons | AskAgent | RunTurn | CheckRules
"""Steps that the worker carries out itself."""

Step = Work | Question | Finish | Done

# Outcomes: what came of a step.


@dataclass(frozen=True)
class Recalled:
    """`note` says why there are none, if the memory couldn't be asked: a run goes on without them."""

    lessons: list[Lesson]
    note: str = ""


@dataclass(frozen=True)
class Inspired:
    report: InspirationReport


@dataclass(frozen=True)
class GoalsSet:
    goals: Goals


@dataclass(frozen=True)
class Planned:
    tasks: list[Task]
    notes: list[str]


@dataclass(frozen=True)
class Written:
    """P4's content."""

    content: DeliveryContent


@dataclass(frozen=True)
class TaskAnswered:
    task_id: str
    output: Text


@dataclass(frozen=True)
class RulesAnswered:
    task_id: str
    checked: RulesChecked


@dataclass(frozen=True)
class VerdictGiven:
    validation_id: str
    task_id: str
    verdict: ValidationResult
    error: str | None


@dataclass(frozen=True)
class DeliveryTaken:
    result: DeliveryResult


@dataclass(frozen=True)
class Learnt:
    result: LearningResult


@dataclass(frozen=True)
class Unusable:
    """The agent answered, but not what was asked for; it is told why and asked again."""

    reason: str


@dataclass(frozen=True)
class StepFailed:
    """The step can't be done: a refusal, or failures for too long."""

    reason: str


@dataclass(frozen=True)
class StepDelayed:
    """The step failed for a reason that passes; `after` is the delay in seconds the other side asked for."""

    reason: str
    after: float | None


Progressed = (
    Recalled
    | Inspired
    | GoalsSet
    | Planned
    | Written
    | TaskAnswered
    | RulesAnswered
    | VerdictGiven
    | DeliveryTaken
    | Learnt
)
"""The step is done."""

Outcome = Progressed | Unusable | StepFailed | StepDelayed
