"""`rota spend`: what a team's calls of models have taken."""

from datetime import datetime
from typing import Annotated

import typer

from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.timestamps import parse_past, utc_time
from rota.trail import money_text
from rota_contracts.messages.spend import SpendBy, SpendReply, SpendRow

SINCE = "A duration before now, like 7d (default: 30d), or a time with its offset: of runs that began since then."


def spend(
    since: Annotated[datetime | None, typer.Option(parser=parse_past, metavar="TIME", help=SINCE)] = None,
    by: Annotated[str, typer.Option(help=f"Of {', '.join(SpendBy)}: one, or several with commas.")] = "robot",
    member: Annotated[str, typer.Option("--robot", "--member", help="Only this robot's.")] = "",
    json: JsonFlag = False,
) -> None:
    """Show what the team's calls of models have taken, judges and lessons too."""
    wanted, start = _parsed(by), since or parse_past("30d")
    params: dict[str, object] = {"since": start.isoformat(), "by": [str(each) for each in wanted]}
    params |= {"member_id": member} if member else {}
    found = with_api(lambda api: api.of_team("GET", "/spend", params=params))
    if json:
        say_json(found)
        return
    spent = SpendReply.model_validate(found)
    if not spent.rows:
        say(f"No model has answered in runs that began since {utc_time(start)} UTC.")
        return
    columns = (*(str(each).upper() for each in wanted), "CALLS", "TOKENS IN", "CACHED", "TOKENS OUT", "COST")
    table(columns, (_row(row, wanted) for row in spent.rows))
    if spent.unpriced:
        say(f"{spent.unpriced} calls have no known cost: their models have no price, or no numbers came.")
    if spent.left_out:
        say(f"{spent.left_out} rows or more are left out: use --robot, or a later --since.")


def _parsed(by: str) -> list[SpendBy]:
    try:
        return list(dict.fromkeys(SpendBy(each.strip()) for each in by.split(",")))
    except ValueError as error:
        raise typer.BadParameter(f"expected some of {', '.join(SpendBy)}, not {by!r}", param_hint="--by") from error


def _row(row: SpendRow, wanted: list[SpendBy]) -> tuple[object, ...]:
    names = [getattr(row, str(each)) or "-" for each in wanted]
    cost = money_text(row.cost, row.currency) if row.currency else "-"
    return *names, row.calls, row.tokens_in, row.tokens_cached, row.tokens_out, cost


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: `rota spend --since 7d --by day,model`")(spend)
