"""`rota plan`: planned instructions to robots."""

from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from rota.client import Api, Json
from rota.commands.intervene import instruction, print_result
from rota.output import JsonFlag, excerpt, say, say_json, table
from rota.running import with_api
from rota.timestamps import local_time, parse_time
from rota_contracts.messages.plan import PlanItem
from rota_contracts.messages.trigger import ExecutorMode, InterventionAction

EXCERPT = 80
AT = "Like 2026-03-02T09:00 by the robot's clock (UTC without one), or with an offset: 2026-03-02T09:00:00+01:00."

app = typer.Typer(help="List planned items; add, change or remove one.", invoke_without_command=True)

Member = Annotated[str, typer.Argument(help="The robot's member_id.")]
PlanId = Annotated[str, typer.Argument(help="As in `rota plan`.")]
Dryrun = Annotated[bool, typer.Option("--dryrun", help="All steps without model calls and deliveries.")]


@app.callback(epilog="Example: `rota plan --robot sales-assistant`")
def listed(
    context: typer.Context,
    member: Annotated[str, typer.Option("--robot", "--member", help="Only this robot's.")] = "",
    json: JsonFlag = False,
) -> None:
    """List planned items, the soonest first; add, change or remove one."""
    if context.invoked_subcommand is not None:
        return
    found = with_api(lambda api: api.plans({"member_id": member} if member else {}))
    if json:
        say_json(found)
    elif not found:
        say('There are no planned items: rota plan add MEMBER -m "…" --at 2026-03-02T09:00')
    else:
        rows = [_row(PlanItem.model_validate(one)) for one in found]
        table(("PLAN", "MEMBER", "STATE", "DUE", "EXECUTION", "WHAT"), rows)


@app.command(epilog='Example: `rota plan add sales-assistant -m "Review the quarter" --at 2026-03-02T09:00`')
def add(
    member: Member,
    message: Annotated[str, typer.Option("--message", "-m", help="The instruction.")],
    at: Annotated[
        datetime | None, typer.Option(parser=parse_time, metavar="TIME", help=f"{AT} Default: the next cycle.")
    ] = None,
    dryrun: Dryrun = False,
    json: JsonFlag = False,
) -> None:
    """Plan an instruction to a robot."""
    request = instruction(InterventionAction.PLAN_ADD, message) | _mode(dryrun)
    _change(member, request, at, json=json)


@app.command(epilog='Example: `rota plan update sales-assistant 5f1e… -m "Review the year"`')
def update(
    member: Member,
    plan_id: PlanId,
    message: Annotated[str, typer.Option("--message", "-m", help="The instruction.")] = "",
    at: Annotated[datetime | None, typer.Option(parser=parse_time, metavar="TIME", help=AT)] = None,
    dryrun: Dryrun = False,
    json: JsonFlag = False,
) -> None:
    """Change a planned item; omitted fields keep their value."""
    if not (message or at or dryrun):
        raise typer.BadParameter("expected at least one of --message, --at and --dryrun")
    request = instruction(InterventionAction.PLAN_UPDATE, message) | _mode(dryrun)
    _change(member, request | {"plan_id": plan_id}, at, json=json)


@app.command(epilog="Example: `rota plan remove sales-assistant 5f1e…`")
def remove(member: Member, plan_id: PlanId, json: JsonFlag = False) -> None:
    """Remove a planned item."""
    _change(member, instruction(InterventionAction.PLAN_REMOVE, "") | {"plan_id": plan_id}, json=json)


def _change(member: str, request: Json, at: datetime | None = None, *, json: bool) -> None:
    async def change(api: Api) -> tuple[Json, str]:
        if at is None:
            return await api.intervene(member, request), ""
        zone = "" if at.tzinfo else await _zone(api, member)
        due = at.replace(tzinfo=ZoneInfo(zone)) if zone else at
        done = await api.intervene(member, request | {"plan_time": due.isoformat()})
        return done, f"that is {local_time(due, zone)}, by the clock of {member}" if zone else ""

    result, understood = with_api(change)
    print_result(result, json=json)
    if understood and not json:
        say(understood)


async def _zone(api: Api, member: str) -> str:
    clock = (await api.robot(member))["robot_config"].get("clock") or {}
    return str(clock.get("tz", "UTC"))


def _mode(dryrun: bool) -> Json:
    return {"executor_mode": ExecutorMode.DRYRUN.value} if dryrun else {}


def _row(item: PlanItem) -> tuple[object, ...]:
    due = item.plan_time.isoformat(timespec="seconds") if item.plan_time else "next cycle"
    what = " ".join(" ".join(message.text().split()) for message in item.messages)
    return item.plan_id, item.member_id, item.state.value, due, item.execution_id, excerpt(what, EXCERPT)
