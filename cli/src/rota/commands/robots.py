"""`rota robots`: list them, delete one."""

from typing import Annotated

import typer

from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api

app = typer.Typer(help="List the team's robots, or delete one.", invoke_without_command=True)


@app.callback(epilog="Example: `rota robots`, or `rota robots --json`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the team's robots, or delete one."""
    if context.invoked_subcommand is not None:
        return
    robots = with_api(lambda api: api.robots())
    if json:
        say_json(robots)
        return
    if not robots:
        say("This team has no robots yet: rota apply -f examples/robots/lead-processor.yaml")
        return
    rows = [(r["member_id"], r.get("display_name"), r.get("robot_status"), r.get("rev"), _wakes(r)) for r in robots]
    table(("MEMBER", "NAME", "STATUS", "REV", "WAKES ON"), rows)


@app.command(epilog="Example: `rota robots delete lead-processor --yes`")
def delete(
    member: Annotated[str, typer.Argument(help="The robot's member_id.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    json: JsonFlag = False,
) -> None:
    """Delete a robot: its runs stop, what it has learnt is removed."""
    if not yes:
        typer.confirm(f"Delete {member} and all it has learnt?", abort=True, err=True)
    with_api(lambda api: api.delete_robot(member))
    if json:
        say_json({"member_id": member, "outcome": "deleted"})
    else:
        say(f"{member}: deleted")


def _wakes(robot: dict[str, object]) -> str:
    config = robot.get("robot_config")
    if not isinstance(config, dict):
        return ""
    triggers = config.get("triggers") or {}
    on = [kind for kind in ("clock", "intervene", "event") if (triggers.get(kind) or {}).get("enabled", True)]
    needs = {"clock": config.get("clock"), "event": config.get("events"), "intervene": True}
    return ", ".join(kind for kind in on if needs[kind])
