"""The history of a definition as a table: when it was written, and by whom."""

from datetime import datetime

from rota.client import Json
from rota.output import say_json, table
from rota.running import with_api
from rota.timestamps import utc_time

COLUMNS = ("REV", "WRITTEN (UTC)", "BY", "ABOUT")


def show(path: str, *, json: bool) -> None:
    """The revisions of the definition at this path of the team, the newest first."""
    found = with_api(lambda api: api.of_team("GET", f"{path}/revisions"))
    if json:
        say_json(found)
        return
    rows = found["revisions"]
    table(COLUMNS, [(each["rev"], written_at(each), each["written_by"], _about(each)) for each in rows])


def written_at(one: Json) -> str:
    return utc_time(datetime.fromisoformat(one["written_at"]))


def _about(one: Json) -> str:
    if one.get("deleted"):
        return "deleted"
    if one.get("canary"):
        return "canary"
    return f"as revision {before}" if (before := one.get("rolled_back_to")) else ""
