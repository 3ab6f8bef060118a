"""A robot's lessons: what its runs have taught it, to be seen and forgotten."""

from typing import Annotated

from fastapi import Path, Query

from rota_common.redaction import model_without_credentials
from rota_contracts.catalog import FORGET_LESSONS, LIST_LESSONS
from rota_contracts.messages.learning import (
    ForgetLessons,
    ForgetLessonsReply,
    LessonPage,
    ListLessons,
    scope_of,
)
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import FieldProblem, Invalid, NotFound
from trigger_gateway.robots.find_robot import find_robot

router = team_router("lessons")

LessonId = Annotated[str, Path(min_length=1, max_length=200, description="as in the list")]
By = Annotated[
    str | None,
    Query(min_length=1, max_length=20_000, description="only those of this value at the robot's `learn.by`"),
]


@router.get("/robots/{member}/lessons", summary="List a robot's lessons, those of the newest runs first")
async def list_lessons(
    team: Name,
    member: Name,
    use: UseCasesDep,
    by: By = None,
    limit: Annotated[int, Query(ge=1, le=100, description="of runs")] = 50,
    after: Annotated[str, Query(max_length=500, description="`next` of the page before")] = "",
) -> LessonPage:
    await find_robot(use.view_robots.records, team, member)
    question = ListLessons(team_id=team, member_id=member, scope=_scope(by), limit=limit, after=after)
    return model_without_credentials(await rpc.call(use.ask, LIST_LESSONS, question, show_reason=True))


@router.delete("/robots/{member}/lessons", summary="Forget all lessons of a robot, or all of one value of `learn.by`")
async def forget_lessons(team: Name, member: Name, use: UseCasesDep, by: By = None) -> ForgetLessonsReply:
    await find_robot(use.view_robots.records, team, member)
    wanted = ForgetLessons(team_id=team, member_id=member, scope=_scope(by))
    return await rpc.call(use.ask, FORGET_LESSONS, wanted)


@router.delete("/robots/{member}/lessons/{lesson_id}", summary="Forget one lesson")
async def forget_lesson(team: Name, member: Name, lesson_id: LessonId, use: UseCasesDep) -> ForgetLessonsReply:
    await find_robot(use.view_robots.records, team, member)
    wanted = ForgetLessons(team_id=team, member_id=member, ids=[lesson_id])
    removed = await rpc.call(use.ask, FORGET_LESSONS, wanted)
    if removed.count == 0:
        raise NotFound("lesson_not_found", f"robot {member} has no lesson {lesson_id}: it was forgotten, or never was")
    return removed


def _scope(by: str | None) -> str | None:
    """A blank value is refused: it must never stand for all lessons."""
    if by is None:
        return None
    if scope := scope_of(by):
        return scope
    problem = FieldProblem("by", "expected a value, got blanks; without by, all lessons are meant")
    raise Invalid("invalid_request", "the request is not valid", fields=[problem])
