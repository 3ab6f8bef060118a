"""`rota targets`: delivery targets that are failing or disabled."""

from typing import Annotated
from urllib.parse import quote

import typer

from rota.client import Api
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.timestamps import utc_time
from rota_contracts.messages.targets import TargetCondition, TargetHealth, TargetPage

app = typer.Typer(help="List failing and disabled targets; disable or enable one.", invoke_without_command=True)

TargetId = Annotated[str, typer.Argument(help="As in `rota targets` or `rota deliveries show`.")]
Reason = Annotated[str, typer.Option(help="Shown with the target.")]


@app.callback(epilog="Example: `rota targets`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the targets that are failing or disabled; disable or enable one."""
    if context.invoked_subcommand is not None:
        return
    found = with_api(lambda api: api.of_team("GET", "/targets"))
    if json:
        say_json(found["targets"])
        return
    targets = TargetPage.model_validate(found).targets
    if not targets:
        say("All targets are healthy.")
    else:
        table(("TARGET ID", "TYPE", "TARGET", "CONDITION", "FAILURES", "SINCE (UTC)", "REASON"), map(_row, targets))


@app.command(epilog="Example: `rota targets enable 92bf…`, then `rota deliveries replay --target 92bf… --since 2d`")
def enable(target_id: TargetId, reason: Reason = "", json: JsonFlag = False) -> None:
    """Enable a target. `rota deliveries replay --target` sends what it missed."""
    _switch(target_id, "enable", reason, json=json)


@app.command(epilog='Example: `rota targets disable 92bf… --reason "maintenance"`')
def disable(target_id: TargetId, reason: Reason = "", json: JsonFlag = False) -> None:
    """Disable a target: its deliveries fail at once, and can be replayed later."""
    _switch(target_id, "disable", reason, json=json)


def _switch(target_id: str, verb: str, reason: str, *, json: bool) -> None:
    async def switch(api: Api) -> dict[str, object]:
        return await api.of_team("POST", f"/targets/{quote(target_id, safe='')}/{verb}", json={"reason": reason})

    result = with_api(switch)
    if json:
        say_json(result["targets"])
    else:
        say(f"{target_id}: {verb}d")


def _row(target: TargetHealth) -> tuple[object, ...]:
    disabled = target.condition is TargetCondition.DISABLED
    since = (target.disabled_at if disabled else None) or target.failing_since
    shown = (target.target_id, target.type.value, target.target, target.condition.value)
    return *shown, target.failures, utc_time(since) if since else "-", target.reason
