"""Lessons: those in an agent's answer, those made by rule, and the fact about them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import AgentReply
from rota_contracts.messages.learning import LearningCompletedV1, LearningRequestedV1, Lesson, LessonType, RunSummary
from rota_contracts.messages.usage import ModelCall
from rota_contracts.model import Json
from rota_contracts.robots.robot import Robot

MAX_LESSONS, CONTENT_LIMIT = 10, 2000
DELETED = "the robot was deleted"
SHORTEST_KEEP = timedelta(days=1)

Draft = tuple[LessonType, str]


@dataclass(frozen=True, slots=True)
class RunLessons:
    """The lessons of one run. `rev` is the robot's revision at that time (0 = unknown), `at` the age of the lessons."""

    execution_id: str
    team: str
    member: str
    rev: int
    at: datetime
    lessons: tuple[Lesson, ...] = ()
    error: str | None = None
    calls: tuple[ModelCall, ...] = ()


@dataclass(frozen=True, slots=True)
class AgedRobot:
    """A robot with old documents; `oldest` is the instant of the oldest."""

    team: str
    member: str
    oldest: datetime


def without(known: RunLessons, ids: Iterable[str] | None) -> RunLessons:
    """What stays once these lessons are forgotten; with None all are, and the error, which may quote an answer."""
    if ids is None:
        return replace(known, lessons=(), error=None)
    gone = frozenset(ids)
    return replace(known, lessons=tuple(lesson for lesson in known.lessons if lesson.id not in gone))


def reason_to_skip(request: LearningRequestedV1) -> str | None:
    """The reason for learning nothing from this run. A failed run is no reason."""
    return None if request.types else "no type of lesson is wanted"


def revision(robot: Robot | None) -> int | None:
    """The robot's revision; None if it was deleted, 0 if it is unknown."""
    if robot is None:
        return 0
    return None if robot.deleted else robot.rev


def lessons_of(request: LearningRequestedV1, answer: AgentReply, found: Json, *, rev: int, at: datetime) -> RunLessons:
    """The lessons in the agent's answer; `found` is the JSON in it."""
    drafts, error = _drafts(request, answer, found)
    lessons = [
        Lesson(
            id=derived_id("lesson", request.execution_id, index, kind),
            type=kind,
            content=content,
            execution_id=request.execution_id,
            learnt_at=at,
            scope=request.scope,
            rehearsed=answer.rehearsed,
        )
        for index, (kind, content) in enumerate(drafts)
    ]
    calls = (answer.call,) if answer.call else ()
    return RunLessons(request.execution_id, request.team_id, request.member_id, rev, at, tuple(lessons), error, calls)


def _drafts(request: LearningRequestedV1, answer: AgentReply, found: Json) -> tuple[list[Draft], str | None]:
    """The lessons, and the error of the call."""
    if answer.error:
        return [], f"the learning agent {answer.agent_id} failed: {answer.error}"
    if isinstance(found, dict) and isinstance(found.get("lessons"), list):
        return _wanted(found["lessons"], request.types, known=request.summary.known), None
    error = (
        f'expected a JSON object with "lessons" of the learning agent {answer.agent_id}, got: {answer.content[:200]!r}'
    )
    return _own(request.summary, request.types), error


def _wanted(listed: Iterable[Json], types: Iterable[LessonType], *, known: Iterable[str]) -> list[Draft]:
    """Only well-formed lessons of the types that the robot keeps, and none in the words of one that it has."""
    by_name = {str(kind): kind for kind in types}
    drafts: list[Draft] = []
    seen = {_words(each) for each in known}
    for item in listed:
        kind = by_name.get(str(item.get("type")).lower()) if isinstance(item, dict) else None
        content = item.get("content") if kind else None
        if not kind or not isinstance(content, str) or not any(each.isalpha() for each in content):
            continue
        content = content.strip()[:CONTENT_LIMIT]
        if _words(content) not in seen:
            seen.add(_words(content))
            drafts.append((kind, content))
    return drafts[:MAX_LESSONS]


def _words(text: str) -> str:
    return " ".join(text.casefold().split())


def _own(summary: RunSummary, types: Iterable[LessonType]) -> list[Draft]:
    """One lesson made by rule where the agent's answer can't be read, so that the run isn't lost."""
    issues = [issue for task in summary.tasks for issue in task.issues]
    issues = [summary.error, *issues] if summary.error and summary.error not in issues else issues
    first = LessonType.FEEDBACK if issues else LessonType.EXECUTION
    kind = next((kind for kind in (first, LessonType.EXECUTION) if kind in set(types)), None)
    if kind is None:
        return []
    outcome = "; ".join(issues) or summary.delivered
    return [(kind, f"{summary.trigger}: {summary.status}{f' ({outcome})' if outcome else ''}"[:CONTENT_LIMIT])]


def completed(request: LearningRequestedV1, found: RunLessons) -> LearningCompletedV1:
    fact = _fact(request, lessons=list(found.lessons), error=found.error)
    return fact.model_copy(update={"calls": [*found.calls]})


def skipped(request: LearningRequestedV1, reason: str) -> LearningCompletedV1:
    return _fact(request, skipped=reason)


def failed(request: LearningRequestedV1, reason: str) -> LearningCompletedV1:
    return _fact(request, error=reason)


def _fact(
    request: LearningRequestedV1,
    *,
    lessons: list[Lesson] | None = None,
    skipped: str | None = None,
    error: str | None = None,
) -> LearningCompletedV1:
    return LearningCompletedV1(
        team_id=request.team_id,
        member_id=request.member_id,
        execution_id=request.execution_id,
        lessons=lessons or [],
        skipped=skipped,
        error=error,
    )
