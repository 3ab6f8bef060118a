"""`rota robots`: the team's robots with their status and next runs."""

from datetime import datetime
from typing import Annotated
from urllib.parse import quote

import typer

from rota import history
from rota.client import Api, Json
from rota.context import load
from rota.deleting import YesFlag
from rota.deleting import delete as delete_it
from rota.delivery_log import newest_of_robots
from rota.output import JsonFlag, say, say_json, table
from rota.robot_status import DAEMON, state_lines, status_row
from rota.robot_template import template
from rota.running import with_api
from rota.schedule import show_schedule

app = typer.Typer(
    help="List the team's robots; show one, print its definition, or delete one.", invoke_without_command=True
)

Member = Annotated[str, typer.Argument(help="The robot's member_id.")]


@app.callback(epilog="Example: `rota robots`, or `rota robots --json`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the team's robots with status, next run, last delivery and trigger types."""
    if context.invoked_subcommand is not None:
        return

    async def read(api: Api) -> list[Json]:
        robots = await api.robots()
        newest = await newest_of_robots(api, [robot["member_id"] for robot in robots])
        return [robot | {"last_delivery": newest.get(robot["member_id"])} for robot in robots]

    robots = with_api(read)
    if json:
        say_json(robots)
    elif not robots:
        say("This team has no robots yet: rota robots init NAME > robot.yaml, then rota apply -f robot.yaml")
    else:
        columns = ("MEMBER", "NAME", "STATUS", "NEXT RUN", "RUNNING", "QUEUED", "DELIVERY", "WAKES ON")
        table(columns, [status_row(robot) for robot in robots])


@app.command(epilog="Example: `rota robots show lead-processor`")
def show(member: Member, json: JsonFlag = False) -> None:
    """Show a robot's status, last error, clock and runs."""

    async def read(api: Api) -> tuple[Json, Json]:
        return await api.robot(member), await api.robot_state(member)

    robot, state = with_api(read)
    if json:
        say_json(state)
        return
    for line in state_lines(robot, state):
        say(line)


@app.command(epilog="Example: `rota robots get support > support.yaml`, then `rota apply -f support.yaml`")
def get(member: Member, json: JsonFlag = False) -> None:
    """Print a robot's definition as YAML that `rota apply` takes back: what is at its default is left out.

    A viewer's key is shown headers and addresses of webhooks without what may be a key.
    """
    from rota.definitions import owners_part
    from rota.yaml_core import dump

    definition = owners_part(with_api(lambda api: api.robot(member)))
    if json:
        say_json(definition)
    else:
        say(dump(definition))


@app.command(epilog="Example: `rota robots init support > support.yaml`, then `rota validate -f support.yaml`")
def init(
    member: Annotated[str, typer.Argument(help="The new robot's member_id.", metavar="NAME")],
    json: JsonFlag = False,
) -> None:
    """Print the definition of a new robot, with every field and what it does. Nothing is made."""
    url = load().url
    text = template(member, schema=f"{url}/schemas/robot.json" if url else "")
    if json:
        from rota.yaml_core import load_all

        say_json(next(load_all(text)))
    else:
        say(text)


@app.command("history", epilog="Example: `rota robots history seo-content`, then `rota rollback Robot seo-content`")
def show_history(member: Member, json: JsonFlag = False) -> None:
    """List the revisions of a robot's definition, the newest first."""
    history.show(f"/robots/{quote(member, safe='')}", json=json)


@app.command("next", epilog="Example: `rota robots next seo-content --count 10`")
def next_runs(
    member: Member,
    count: Annotated[int, typer.Option(min=1, max=100, help="Number of runs.")] = 5,
    json: JsonFlag = False,
) -> None:
    """Show the next runs of a robot's clock, in its zone and in UTC."""

    async def read(api: Api) -> tuple[Json, Json]:
        return await api.robot(member), await api.robot_next(member, count)

    robot, found = with_api(read)
    clock = robot["robot_config"].get("clock")
    if json:
        say_json(found)
    elif clock is None:
        say(f"{member} has no clock: it runs on events and interventions")
    else:
        upcoming = [datetime.fromisoformat(at) for at in found["upcoming"]]
        show_schedule(found["clock"], upcoming, clock.get("tz", "UTC"))
        if not upcoming and clock["mode"] != DAEMON:
            say(f"no run is due: see `rota robots show {member}`")


@app.command(epilog="Example: `rota robots delete lead-processor --yes`")
def delete(
    member: Member,
    yes: YesFlag = False,
    json: JsonFlag = False,
) -> None:
    """Delete a robot: its runs stop, its lessons are removed."""
    question = f"Delete {member} and its lessons?"
    delete_it(lambda api: api.delete_robot(member), named={"member_id": member}, question=question, yes=yes, json=json)
