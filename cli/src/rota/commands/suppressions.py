"""`rota suppressions`: addresses that receive no mail of this team."""

from typing import Annotated
from urllib.parse import quote

import typer

from rota.client import Api, Json
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api

app = typer.Typer(help="List suppressed addresses, add one, or remove one.", invoke_without_command=True)

PATH, PAGE_SIZE = "/suppressions", 1000

Address = Annotated[str, typer.Argument(help="An e-mail address.")]


@app.callback(epilog="Example: `rota suppressions`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the suppressed addresses with their reasons; add one, or remove one."""
    if context.invoked_subcommand is not None:
        return
    found = with_api(_all)
    if json:
        say_json(found)
    elif not found:
        say("No address is suppressed.")
    else:
        rows = [(one["address"], one["reason"], one["by"], one["created_at"]) for one in found]
        table(("ADDRESS", "REASON", "BY", "SINCE"), rows)


@app.command(epilog='Example: `rota suppressions add ada@acme.example --reason "has left"`')
def add(
    address: Address,
    reason: Annotated[str, typer.Option(help="Shown with the address.")] = "",
    json: JsonFlag = False,
) -> None:
    """Suppress an address: it receives no mail, whatever the robots' preferences."""
    added = with_api(lambda api: api.of_team("POST", PATH, json={"address": address, "reason": reason}))
    if json:
        say_json(added["suppressions"])
    else:
        say(f"{address}: suppressed")


@app.command(epilog="Example: `rota suppressions remove ada@acme.example`")
def remove(address: Address, json: JsonFlag = False) -> None:
    """Remove an address from the list. Succeeds if it is not on it."""
    with_api(lambda api: api.of_team("DELETE", f"{PATH}/{quote(address, safe='')}"))
    if json:
        say_json({"address": address, "outcome": "removed"})
    else:
        say(f"{address}: no longer suppressed")


async def _all(api: Api) -> list[Json]:
    found: list[Json] = []
    after = ""
    while True:
        page = await api.of_team("GET", PATH, params={"limit": PAGE_SIZE, "after": after})
        found += page["suppressions"]
        if not (after := page["next"]):
            return found
