"""Learning from runs: lessons for later runs, and the check whether goals were already reached."""

import hashlib
from enum import StrEnum

from pydantic import Field

from rota_contracts.json_values import canonical
from rota_contracts.messages.usage import ModelCall
from rota_contracts.model import Instant, Json, Name, Part, Payload

SCOPE_LIMIT = 200
"""Characters of a scope that is written as it is; a longer one ends in its hash, and is one character longer."""


def scope_of(value: Json) -> str:
    """The scope that a text or a number of an event stands for; empty if the value is neither, or blank. Distinct texts
    have distinct scopes; a number has that of its digits."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = value if isinstance(value, str) else canonical(value)
    if len(text) <= SCOPE_LIMIT:
        return text if text.strip() else ""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[: SCOPE_LIMIT - len(digest)]}…{digest}"


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
    scope: str = Field(default="", description="the only runs that recall it: those with this value at `learn.by`")
    rehearsed: bool = Field(default=False, description="a canned answer, which is never given to a model")


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
    scope: str = Field(default="", description="of the lessons; empty: the robot has no `learn.by`")


class LearningCompletedV1(Payload):
    """Published when the lessons of a run are stored; `skipped` or `error` is the reason if there are none."""

    execution_id: str
    lessons: list[Lesson] = []
    skipped: str | None = None
    error: str | None = None
    calls: list[ModelCall] = Field(default=[], description="what the calls of models took")


class ListLessons(Part):
    """Request to the learner: a robot's lessons, those of the newest runs first. `limit` counts runs; `after` is the
    `next` of the page before."""

    team_id: Name
    member_id: Name
    scope: str | None = Field(default=None, description="null: those of all scopes")
    limit: int = Field(default=50, ge=1, le=100)
    after: str = ""


class LessonPage(Part):
    """One page of lessons; `next` is empty on the last one."""

    lessons: list[Lesson] = []
    next: str = ""


class ForgetLessons(Part):
    """Request to the learner: remove lessons of a robot, here and from the memory. With `ids` null, all of them, or
    those of the `scope`."""

    team_id: Name
    member_id: Name
    ids: list[str] | None = Field(default=None, max_length=100)
    scope: str | None = Field(default=None, min_length=1)


class ForgetLessonsReply(Part):
    """The number of lessons that were removed."""

    count: int


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
