"""`rota robots`: list them and how they stand, show one, say when it runs next, delete one."""

from typing import Annotated

import typer
from pydantic import AwareDatetime, BaseModel

from rota.client import Api, Json
from rota.deleting import YesFlag
from rota.deleting import delete as delete_it
from rota.output import JsonFlag, say, say_json, table
from rota.robot_status import row_of, state_lines
from rota.running import with_api
from rota.schedule import show_schedule
from rota_contracts.messages.robot_state import RobotState
from rota_contracts.robots.clock_config import ClockMode
from rota_contracts.robots.robot import RobotDefinition

app = typer.Typer(help="List the team's robots, show one, or delete one.", invoke_without_command=True)

Member = Annotated[str, typer.Argument(help="The robot's member_id.")]


class Next(BaseModel):
    """What the gateway says of a robot's next runs."""

    clock: str
    upcoming: list[AwareDatetime]


@app.callback(epilog="Example: `rota robots`, or `rota robots --json`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the team's robots: what each does now, when its clock is due next, and what wakes it."""
    if context.invoked_subcommand is not None:
        return
    robots = with_api(lambda api: api.robots())
    if json:
        say_json(robots)
    elif not robots:
        say("This team has no robots yet: rota apply -f examples/robots/lead-processor.yaml")
    else:
        columns = ("MEMBER", "NAME", "STATUS", "NEXT RUN", "RUNNING", "QUEUED", "WAKES ON")
        table(columns, [row_of(robot) for robot in robots])


@app.command(epilog="Example: `rota robots show lead-processor`")
def show(member: Member, json: JsonFlag = False) -> None:
    """Show how a robot stands: its status and last error, its clock, its runs."""

    async def read(api: Api) -> tuple[Json, Json]:
        return await api.robot(member), await api.robot_state(member)

    robot, state = with_api(read)
    if json:
        say_json(state)
        return
    for line in state_lines(RobotDefinition.model_validate(robot), RobotState.model_validate(state)):
        say(line)


@app.command("next", epilog="Example: `rota robots next seo-content --count 10`")
def next_runs(
    member: Member,
    count: Annotated[int, typer.Option(min=1, max=100, help="How many.")] = 5,
    json: JsonFlag = False,
) -> None:
    """Say when a robot's clock is due next: in words, by its zone, and in UTC."""

    async def read(api: Api) -> tuple[Json, Json]:
        return await api.robot(member), await api.robot_next(member, count)

    robot, told = with_api(read)
    clock = RobotDefinition.model_validate(robot).robot_config.clock
    if json:
        say_json(told)
    elif clock is None:
        say(f"{member} has no clock: only people and events wake it")
    else:
        due = Next.model_validate(told)
        show_schedule(due.clock, due.upcoming, clock.tz)
        if not due.upcoming and clock.mode is not ClockMode.DAEMON:
            say(f"nothing is due: `rota robots show {member}` says why")


@app.command(epilog="Example: `rota robots delete lead-processor --yes`")
def delete(
    member: Member,
    yes: YesFlag = False,
    json: JsonFlag = False,
) -> None:
    """Delete a robot: its runs stop, what it has learnt is removed."""
    question = f"Delete {member} and all it has learnt?"
    delete_it(lambda api: api.delete_robot(member), named={"member_id": member}, question=question, yes=yes, json=json)
