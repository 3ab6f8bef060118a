"""Learning from a run: what worked, what failed, what to remember (LE-01 to LE-05)."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.model import Instant, Name, Part, Payload


class LessonType(StrEnum):
    EXECUTION = "execution"
    FEEDBACK = "feedback"
    INSIGHT = "insight"


class Lesson(Part):
    """One entry of a robot's private knowledge base, and the run it comes from."""

    id: str
    type: LessonType
    content: str
    execution_id: str
    learnt_at: Instant


class TaskSummary(Part):
    description: str
    status: str
    output: str = Field(default="", description="its beginning, at most 2,000 characters")
    issues: list[str] = []


class RunSummary(Part):
    """P5's input: the run in short."""

    role: str
    trigger: str = Field(description="what woke the robot, in words")
    status: str
    error: str | None = None
    goals: str = ""
    tasks: list[TaskSummary] = []
    delivered: str = Field(default="", description="the summary that was delivered")


class LearningRequestedV1(Payload):
    """A run is over, well or badly: learn from it. Not sent for dry runs, nor where learning is switched off."""

    execution_id: str
    summary: RunSummary
    types: list[LessonType] = list(LessonType)
    keep_days: int = Field(default=0, ge=0, description="0 = for ever")
    agent: str = "rota.learning"


class LearningCompletedV1(Payload):
    """What was learnt; `skipped` says why nothing was, `error` why nothing could be."""

    execution_id: str
    lessons: list[Lesson] = []
    skipped: str | None = None
    error: str | None = None


class DedupDecision(StrEnum):
    SKIP = "skip"
    MERGE = "merge"
    PROCEED = "proceed"


class UnderWay(Part):
    """An execution of the same robot that isn't over. One that waits for its first slot has no goals yet."""

    execution_id: str
    status: str
    goals: str = ""
    about: str = ""


class CheckGoals(Part):
    """Question to the learner: has this been done already (SC-13)? Asked twice for one execution, the answer is the
    same."""

    team_id: Name
    member_id: Name
    execution_id: str
    goals: str
    about: str = Field(default="", description="what woke the robot, in one line")
    window_s: float = Field(gt=0, description="how far back counts, in seconds")
    agent: str = "rota.dedup"
    under_way: list[UnderWay] = Field(default=[], description="what `merge` may merge into")
    asked_at: Instant


class GoalsReply(Part):
    """`skip`: done already. `merge`: partly done, `goals` are what is left. `execution_id` is the run that did it.

    With `into`, `goals` go to that execution, which is under way, and this one ends; without, it goes on with them.
    """

    decision: DedupDecision
    reason: str = ""
    execution_id: str | None = None
    goals: str | None = None
    into: str | None = None
