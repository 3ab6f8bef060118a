"""`rota canary`: definitions, or a robot's, that a share of new runs begins with, beside the current ones."""

from collections.abc import Iterator
from typing import Annotated
from urllib.parse import quote

import typer

from rota.api_error import ApiError
from rota.client import Api, Json
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.trail import money_text

COLUMNS = ("OF", "RUNS BEGIN WITH", "REV", "RUNS", "COMPLETED", "FAILED", "SUCCESS", "COST")
NOT_FOUND = 404

app = typer.Typer(
    help="Show how runs of canaries end, change a canary's share of new runs, promote it, or abort it.",
    no_args_is_help=True,
)

Robot = Annotated[str, typer.Option("--robot", "--member", help="This robot's, not that of the definitions.")]


@app.command("show", epilog="Example: `rota canary show`, or `rota canary show --robot leads`")
def show_canary(
    robot: Annotated[str, typer.Option("--robot", "--member", help="Only this robot's.")] = "", json: JsonFlag = False
) -> None:
    """Show how runs have ended since each canary began: with what is current, and with the canary."""
    found = with_api(lambda api: _one(api, robot) if robot else _all(api))
    if json:
        say_json(found)
    elif found:
        table(COLUMNS, [row for each in found for row in _rows(each)])
    else:
        say("There is no canary: `rota apply -f FILE --canary PERCENT` begins one.")


@app.command("share", epilog="Example: `rota canary share 50`, or `rota canary share 50 --robot leads`")
def change_share(
    percent: Annotated[int, typer.Argument(min=1, max=99, help="Of new runs.")],
    robot: Robot = "",
    json: JsonFlag = False,
) -> None:
    """Change the canary's share of new runs."""
    path = _path(robot)
    _show(with_api(lambda api: api.of_team("PUT", path, json={"share": percent})), robot, json=json)


@app.command("promote", epilog="Example: `rota canary promote`, or `rota canary promote --robot leads`")
def promote(robot: Robot = "", json: JsonFlag = False) -> None:
    """Make what the canary's runs begin with the current definitions, or the robot's."""
    path = _path(robot)
    _show(with_api(lambda api: api.of_team("POST", f"{path}/promote")), robot, json=json)


@app.command("abort", epilog="Example: `rota canary abort`, or `rota canary abort --robot leads`")
def abort(robot: Robot = "", json: JsonFlag = False) -> None:
    """End the canary: new runs begin with what is current alone."""
    path = _path(robot)
    _show(with_api(lambda api: api.of_team("POST", f"{path}/abort")), robot, json=json)


def _path(robot: str) -> str:
    return f"/robots/{quote(robot, safe='')}/canary" if robot else "/definitions/canary"


async def _one(api: Api, robot: str) -> list[Json]:
    return [{"robot": robot or None, **await api.of_team("GET", _path(robot))}]


async def _all(api: Api) -> list[Json]:
    """That of the definitions first, if there is one, then those of robots."""
    names = [robot["member_id"] for robot in await api.robots() if robot.get("canary")]
    found = list[Json]()
    for name in ("", *names):
        try:
            found += await _one(api, name)
        except ApiError as error:  # there is none, or it has ended since
            if error.status != NOT_FOUND:
                raise
    return found


def _rows(found: Json) -> Iterator[tuple[object, ...]]:
    names = ("current", f"canary, {found['canary']['share']} %")
    for name, count in zip(names, found["counts"], strict=True):
        yield found["robot"] or "definitions", name, *_row(count)


def _show(found: Json, robot: str, *, json: bool) -> None:
    if json:
        say_json({"rev": found["rev"], "canary": found["canary"]})
        return
    canary = found["canary"]
    beside = f", with revision {canary['rev']} for {canary['share']} % of new runs" if canary else ""
    what = f"Robot {robot} is" if robot else "The current definitions are"
    say(f"{what} revision {found['rev']}{beside}.")


def _row(count: Json) -> tuple[object, ...]:
    ended = count["completed"] + count["failed"]
    success = f"{100 * count['completed'] / ended:.0f} %" if ended else "-"
    cost = ", ".join(money_text(value, currency) for currency, value in count["cost"].items()) or "-"
    return count["rev"], count["runs"], count["completed"], count["failed"], success, cost
