"""Learning from runs: lessons for later runs, and the check whether goals were already reached."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.usage import ModelCall
from rota_contracts.model import Instant, Name, Part, Payload


class LessonType(StrEnum):
    EXECUTION = "execution"
    FEEDBACK = "feedback"
    INSIGHT = "insight"


class Lesson(Part):
    """A lesson: one entry of a robot's private knowledge base, with the run it comes from."""

    id: str
    type: LessonType
    content: str
    execution_id: str
    learnt_at: Instant


class TaskSummary(Part):
    description: str
    status: str
    output: str = Field(default="", description="at most its first 2,000 characters")
    issues: list[str] = []


class RunSummary(Part):
    """The input of the phase `learning`: a summary of the run."""

    role: str
    trigger: str = Field(description="the trigger, in words")
    status: str
    error: str | None = None
    goals: str = ""
    tasks: list[TaskSummary] = []
    delivered: str = Field(default="", description="the summary that was delivered")
    known: list[str] = Field(default=[], description="the lessons that the run was given")
    now: str = Field(default="", description="the date, the time and the zone of the run, in words")


class LearningRequestedV1(Payload):
    """Published when a run has ended, completed or failed. Not for dry runs, nor if learning is off."""

    execution_id: str
    summary: RunSummary
    types: list[LessonType] = list(LessonType)
    keep_days: int = Field(default=0, ge=0, description="0 = forever")
    agent: str = "rota.learning"


class LearningCompletedV1(Payload):
    """Published when the lessons of a run are stored; `skipped` or `error` is the reason if there are none."""

    execution_id: str
    lessons: list[Lesson] = []
    skipped: str | None = None
    error: str | None = None
    calls: list[ModelCall] = Field(default=[], description="what the calls of models took")


class DedupDecision(StrEnum):
    SKIP = "skip"
    MERGE = "merge"
    PROCEED = "proceed"


class UnderWay(Part):
    """A running or queued execution of the same robot. A queued one has no goals yet."""

    execution_id: str
    status: str
    goals: str = ""
    about: str = ""


class CheckGoals(Part):
    """Request to the learner: have these goals been reached already? The reply for one execution is always the same."""

    team_id: Name
    member_id: Name
    execution_id: str
    goals: str
    about: str = Field(default="", description="the trigger, in one line")
    window_s: float = Field(gt=0, description="length of the window to search, in seconds")
    agent: str = "rota.dedup"
    under_way: list[UnderWay] = Field(default=[], description="the executions that `merge` may choose from")
    asked_at: Instant


class GoalsReply(Part):
    """`skip`: done already. `merge`: partly done, `goals` are the rest. `execution_id` is the run that did it.

    With `into`, the `goals` are added to that execution and this one ends; without, this one goes on with them.
    """

    decision: DedupDecision
    reason: str = ""
    execution_id: str | None = None
    goals: str | None = None
    into: str | None = None
    calls: list[ModelCall] = Field(default=[], description="what the calls of models took")
