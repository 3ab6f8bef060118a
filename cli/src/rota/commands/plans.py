"""`rota plans`: what the robots are to do later."""

from typing import Annotated

import typer

from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota_contracts.plan import PlanItem

EXCERPT = 80


def register(app: typer.Typer) -> None:
    app.command("plans", epilog="Example: `rota plans --member sales-assistant`")(plans)


def plans(
    member: Annotated[str, typer.Option(help="Only this robot's.")] = "",
    json: JsonFlag = False,
) -> None:
    """List what is planned, the soonest first. `rota intervene --action plan.add` adds to it."""
    found = with_api(lambda api: api.plans({"member_id": member} if member else {}))
    if json:
        say_json(found)
    elif not found:
        say('Nothing is planned: rota intervene MEMBER --action plan.add --plan-time … -m "…"')
    else:
        rows = [_row(PlanItem.model_validate(one)) for one in found]
        table(("PLAN", "MEMBER", "STATE", "DUE", "EXECUTION", "WHAT"), rows)


def _row(item: PlanItem) -> tuple[object, ...]:
    due = item.plan_time.isoformat(timespec="seconds") if item.plan_time else "next cycle"
    what = " ".join(" ".join(message.text().split()) for message in item.messages)
    return item.plan_id, item.member_id, item.state.value, due, item.execution_id, what[:EXCERPT]
