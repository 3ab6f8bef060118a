"""`rota suppressions`: the addresses that get no mail of this team any more."""

from typing import Annotated
from urllib.parse import quote

import typer

from rota.client import Api, Json
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api

app = typer.Typer(help="List addresses that get no mail, add one, or remove one.", invoke_without_command=True)

PATH, PAGE_SIZE = "/suppressions", 1000

Address = Annotated[str, typer.Argument(help="An e-mail address.")]


@app.callback(epilog="Example: `rota suppressions`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the addresses that get no mail, and why; add one, or remove one."""
    if context.invoked_subcommand is not None:
        return
    found = with_api(_all)
    if json:
        say_json(found)
    elif not found:
        say("Every address gets its mail.")
    else:
        rows = [(one["address"], one["reason"], one["by"], one["created_at"]) for one in found]
        table(("ADDRESS", "WHY", "BY", "SINCE"), rows)


@app.command(epilog='Example: `rota suppressions add ada@acme.example --reason "has left"`')
def add(
    address: Address,
    reason: Annotated[str, typer.Option(help="Told to whoever looks why.")] = "",
    json: JsonFlag = False,
) -> None:
    """Send no more mail to an address, whatever the robots' preferences say."""
    added = with_api(lambda api: api.of_team("POST", PATH, json={"address": address, "reason": reason}))
    if json:
        say_json(added["suppressions"])
    else:
        say(f"{address}: gets no more mail")


@app.command(epilog="Example: `rota suppressions remove ada@acme.example`")
def remove(address: Address, json: JsonFlag = False) -> None:
    """Let an address get mail again; one that isn't on the list stays as it is."""
    with_api(lambda api: api.of_team("DELETE", f"{PATH}/{quote(address, safe='')}"))
    if json:
        say_json({"address": address, "outcome": "removed"})
    else:
        say(f"{address}: gets mail again")


async def _all(api: Api) -> list[Json]:
    found: list[Json] = []
    after = ""
    while True:
        page = await api.of_team("GET", PATH, params={"limit": PAGE_SIZE, "after": after})
        found += page["suppressions"]
        if not (after := page["next"]):
            return found
