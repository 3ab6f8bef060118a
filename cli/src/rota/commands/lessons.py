"""`rota lessons`: what a robot has learnt of its runs, to be seen and forgotten."""

from typing import Annotated
from urllib.parse import quote

import typer

from rota.client import Api
from rota.deleting import YesFlag
from rota.output import JsonFlag, excerpt, say, say_json, table
from rota.running import with_api
from rota.selection import parameters
from rota.timestamps import utc_time
from rota_contracts.messages.learning import Lesson, LessonPage

EXCERPT = 100
COLUMNS = ("LEARNT (UTC)", "ID", "TYPE", "BY", "EXECUTION", "LESSON")

app = typer.Typer(help="List what a robot has learnt of its runs, and forget it.", no_args_is_help=True)

Robot = Annotated[str, typer.Argument(metavar="ROBOT", help="The robot's member_id.")]
By = Annotated[str, typer.Option(metavar="VALUE", help="Only those of this value at the robot's learn.by.")]


@app.command("list", epilog="Example: `rota lessons list support --by c-4711`")
def list_lessons(
    robot: Robot,
    by: By = "",
    after: Annotated[str, typer.Option(help="Continue after the previous page, which shows the value.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of runs.")] = 50,
    json: JsonFlag = False,
) -> None:
    """List a robot's lessons, those of the newest runs first. A rehearsed one was made without a model."""
    wanted: dict[str, object] = {"limit": limit, **parameters(by=by, after=after)}
    found = with_api(lambda api: api.of_team("GET", _path(robot), params=wanted))
    if json:
        say_json(found)
        return
    page = LessonPage.model_validate(found)
    if page.lessons:
        table(COLUMNS, map(_row, page.lessons))
    else:
        say(f"{robot} has learnt nothing{f' by {by}' if by else ''}.")
    if page.next:
        say(f"next page: --after {page.next}")


@app.command(epilog="Example: `rota lessons forget support --by c-4711 --yes`, or `rota lessons forget support ID`")
def forget(
    robot: Robot,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID...]", help="As in `rota lessons list`.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All lessons of the robot.")] = False,
    by: By = "",
    yes: YesFlag = False,
    json: JsonFlag = False,
) -> None:
    """Forget lessons of a robot: some, all, or all of one value of its learn.by. Later runs aren't given them."""
    if sum((bool(ids), every, bool(by))) != 1:
        raise typer.BadParameter("expected the IDs of lessons, --by VALUE or --all, and one of these")
    what = f"{len(ids)} of the lessons" if ids else f"all lessons by {by}" if by else "all lessons"
    if not yes:
        typer.confirm(f"Forget {what} of {robot}?", abort=True, err=True)

    async def remove(api: Api) -> int:
        paths = [_path(robot, one) for one in ids or ()] or [_path(robot)]
        params = parameters(by=by)
        return sum([(await api.of_team("DELETE", path, params=params))["count"] for path in paths])

    count = with_api(remove)
    if json:
        say_json({"member_id": robot, "count": count})
    else:
        say(f"{robot}: {count} {'lesson' if count == 1 else 'lessons'} forgotten")


def _path(robot: str, lesson_id: str = "") -> str:
    lessons = f"/robots/{quote(robot, safe='')}/lessons"
    return f"{lessons}/{quote(lesson_id, safe='')}" if lesson_id else lessons


def _row(lesson: Lesson) -> tuple[object, ...]:
    kind = f"{lesson.type}, rehearsed" if lesson.rehearsed else str(lesson.type)
    text = excerpt(" ".join(lesson.content.split()), EXCERPT)
    return utc_time(lesson.learnt_at), lesson.id, kind, excerpt(lesson.scope, 30), lesson.execution_id, text
