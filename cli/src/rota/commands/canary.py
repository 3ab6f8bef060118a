"""`rota canary`: definitions that a share of new runs begins with, beside the current ones."""

from typing import Annotated

import typer

from rota.client import Json
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.trail import money_text

COLUMNS = ("DEFINITIONS", "REV", "RUNS", "COMPLETED", "FAILED", "SUCCESS", "COST")

app = typer.Typer(
    help="Show how runs of the canary end, change its share of new runs, promote it, or abort it.", no_args_is_help=True
)


@app.command("show", epilog="Example: `rota canary show`")
def show_canary(json: JsonFlag = False) -> None:
    """Show how runs have ended since the canary began: with the current definitions, and with the canary's."""
    found = with_api(lambda api: api.of_team("GET", "/definitions/canary"))
    if json:
        say_json(found)
        return
    names = ("current", f"canary, {found['canary']['share']} %")
    table(COLUMNS, [(name, *_row(count)) for name, count in zip(names, found["counts"], strict=True)])


@app.command("share", epilog="Example: `rota canary share 50`")
def change_share(
    percent: Annotated[int, typer.Argument(min=1, max=99, help="Of new runs.")], json: JsonFlag = False
) -> None:
    """Change the canary's share of new runs."""
    _show(with_api(lambda api: api.of_team("PUT", "/definitions/canary", json={"share": percent})), json=json)


@app.command("promote", epilog="Example: `rota canary promote`")
def promote(json: JsonFlag = False) -> None:
    """Make the canary's definitions the current ones."""
    _show(with_api(lambda api: api.of_team("POST", "/definitions/canary/promote")), json=json)


@app.command("abort", epilog="Example: `rota canary abort`")
def abort(json: JsonFlag = False) -> None:
    """End the canary: new runs begin with the current definitions alone."""
    _show(with_api(lambda api: api.of_team("POST", "/definitions/canary/abort")), json=json)


def _show(found: Json, *, json: bool) -> None:
    if json:
        say_json({"rev": found["rev"], "canary": found["canary"]})
        return
    canary = found["canary"]
    beside = f", with revision {canary['rev']} for {canary['share']} % of new runs" if canary else ""
    say(f"The current definitions are revision {found['rev']}{beside}.")


def _row(count: Json) -> tuple[object, ...]:
    ended = count["completed"] + count["failed"]
    success = f"{100 * count['completed'] / ended:.0f} %" if ended else "-"
    cost = ", ".join(money_text(value, currency) for currency, value in count["cost"].items()) or "-"
    return count["rev"], count["runs"], count["completed"], count["failed"], success, cost
