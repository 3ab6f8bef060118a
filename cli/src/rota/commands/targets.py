"""`rota targets`: the places that results can't reach now, or that are switched off."""

from typing import Annotated
from urllib.parse import quote

import typer

from rota.client import Api
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.timestamps import moment
from rota_contracts.messages.targets import TargetCondition, TargetHealth, TargetPage

app = typer.Typer(help="List the places that are unwell, switch one off or on.", invoke_without_command=True)

TargetId = Annotated[str, typer.Argument(help="As in `rota targets`, or as `rota deliveries show` tells it.")]
Reason = Annotated[str, typer.Option(help="Told to whoever looks why.")]


@app.callback(epilog="Example: `rota targets`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the places that are failing or disabled; switch one off, or on again."""
    if context.invoked_subcommand is not None:
        return
    found = with_api(lambda api: api.of_team("GET", "/targets"))
    if json:
        say_json(found["targets"])
        return
    targets = TargetPage.model_validate(found).targets
    if not targets:
        say("All places that results go to are well.")
    else:
        table(("TARGET ID", "TYPE", "TARGET", "CONDITION", "FAILURES", "SINCE (UTC)", "WHY"), map(_row, targets))


@app.command(epilog="Example: `rota targets enable 92bf…`, then `rota deliveries replay --target 92bf… --since 2d`")
def enable(target_id: TargetId, reason: Reason = "", json: JsonFlag = False) -> None:
    """Send to a place again. What it missed meanwhile is sent by `rota deliveries replay --target`."""
    _switch(target_id, "enable", reason, json=json)


@app.command(epilog='Example: `rota targets disable 92bf… --reason "the receiver moves house"`')
def disable(target_id: TargetId, reason: Reason = "", json: JsonFlag = False) -> None:
    """Send nothing to a place any more: its deliveries fail at once, and can be replayed later."""
    _switch(target_id, "disable", reason, json=json)


def _switch(target_id: str, verb: str, reason: str, *, json: bool) -> None:
    async def switch(api: Api) -> dict[str, object]:
        return await api.of_team("POST", f"/targets/{quote(target_id, safe='')}/{verb}", json={"reason": reason})

    told = with_api(switch)
    if json:
        say_json(told["targets"])
    else:
        say(f"{target_id}: {verb}d")


def _row(target: TargetHealth) -> tuple[object, ...]:
    disabled = target.condition is TargetCondition.DISABLED
    since = (target.disabled_at if disabled else None) or target.failing_since
    shown = (target.target_id, target.type.value, target.target, target.condition.value)
    return *shown, target.failures, moment(since) if since else "-", target.reason
