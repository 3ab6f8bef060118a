"""`rota members`: the people of the team."""

from typing import Annotated

import typer

from rota.client import Api, Json
from rota.deleting import YesFlag
from rota.deleting import delete as delete_it
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api

app = typer.Typer(help="List the people of the team, show one, or delete one.", invoke_without_command=True)

PATH, PAGE_SIZE = "/members", 1000

Member = Annotated[str, typer.Argument(help="The person's member_id.")]


@app.callback(epilog="Example: `rota members`, or `rota members --json`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the people of the team with role and address; robots: `rota robots`."""
    if context.invoked_subcommand is not None:
        return
    found = with_api(_all)
    if json:
        say_json(found)
    elif not found:
        say("This team has no people yet: apply a file with kind: Member, `rota apply --help`")
    else:
        rows = [(one["member_id"], one["display_name"], one["role"], one["email"]) for one in found]
        table(("MEMBER", "NAME", "ROLE", "EMAIL"), rows)


@app.command(epilog="Example: `rota members show ann`")
def show(member: Member, json: JsonFlag = False) -> None:
    """Show a person's record."""
    found = with_api(lambda api: api.of_team("GET", f"{PATH}/{member}"))
    if json:
        say_json(found)
        return
    contacts = found.get("contacts", {})
    for name, value in (
        *((name, found[name]) for name in ("member_id", "display_name", "role", "email")),
        *contacts.items(),
    ):
        say(f"{name}: {value}")


@app.command(epilog="Example: `rota members delete ann --yes`")
def delete(member: Member, yes: YesFlag = False, json: JsonFlag = False) -> None:
    """Delete a person: links mailed to them are void, and robots they manage notify no one."""

    async def remove(api: Api) -> None:
        await api.of_team("DELETE", f"{PATH}/{member}")

    delete_it(remove, named={"member_id": member}, question=f"Delete {member}?", yes=yes, json=json)


async def _all(api: Api) -> list[Json]:
    found: list[Json] = []
    after = ""
    while True:
        page = await api.of_team("GET", PATH, params={"limit": PAGE_SIZE, "after": after})
        found += page["members"]
        if not (after := page["next"]):
            return found
