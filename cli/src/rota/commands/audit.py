"""`rota audit`: who changed what, with which key."""

from typing import Annotated

import typer

from rota.client import Api, Json
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api

PAGE_SIZE = 1000


def audit(
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest.")] = 50,
    everything: Annotated[bool, typer.Option("--all-teams", help="All teams (needs the admin key).")] = False,
    json: JsonFlag = False,
) -> None:
    """List who changed what, the newest first."""

    async def read(api: Api) -> list[Json]:
        found: list[Json] = []
        after = ""
        while len(found) < limit:
            params = {"limit": min(PAGE_SIZE, limit - len(found)), "after": after}
            page = await (api.all_audit(params) if everything else api.of_team("GET", "/audit", params=params))
            found += page["entries"]
            if not (after := page["next"]):
                break
        return found

    found = with_api(read, admin=everything)
    if json:
        say_json(found)
    elif not found:
        say("Nothing was changed.")
    else:
        teams = ("TEAM",) if everything else ()
        rows = [(*((one["team_id"],) if everything else ()), *_row(one)) for one in found]
        table((*teams, "AT", "BY", "ACTION", "ON", "OUTCOME"), rows)


def _row(one: Json) -> tuple[str, str, str, str, str]:
    who = " ".join(part for part in (one["by"], one.get("by_name"), one.get("role")) if part)
    on = ", ".join(f"{name} {value}" for name, value in sorted(one.get("on", {}).items()))
    return one["at"], who, one["action"], on, str(one["status"]) if one.get("status") else "unknown"


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: `rota audit --limit 200`")(audit)
