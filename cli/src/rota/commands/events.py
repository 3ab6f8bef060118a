"""`rota events`: what came in by webhooks, and what became of it."""

import asyncio
import json as jsons
from typing import Annotated, Any

import typer

from rota.client import Api, Json
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.timestamps import utc_text

app = typer.Typer(help="List what came in by webhooks; show one event and its runs.", invoke_without_command=True)

Source = Annotated[str, typer.Argument(help="The source's name, as in `rota sources`.")]


@app.callback(epilog="Example: `rota events`, or `rota events --source leads --refused`")
def listed(
    context: typer.Context,
    source: Annotated[str, typer.Option(help="Only of this source.")] = "",
    refused: Annotated[bool, typer.Option("--refused", help="Only posts that were refused.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Lines of each source at most.")] = 20,
    json: JsonFlag = False,
) -> None:
    """List what came in, newest first: accepted events with their runs, and refused posts with the reason.

    Posts of a minute that were refused for one reason are one line. One without an event's id has that of its request.
    """
    if context.invoked_subcommand is not None:
        return
    lines = with_api(lambda api: _lines(api, source, limit))
    shown = [line for line in lines if not refused or line["status"] != "accepted"]
    if json:
        say_json(shown)
    elif not shown:
        say("Nothing has come in: rota webhook send SOURCE posts an event, rota sources add NAME makes a source")
    else:
        table(("LAST", "SOURCE", "STATUS", "POSTS", "TYPE", "EVENT", "BECAME"), [_row(line) for line in shown])


@app.command(epilog="Example: `rota events show leads evt-1`")
def show(
    source: Source,
    event_id: Annotated[str, typer.Argument(help="Its id, as in `rota events`.")],
    json: JsonFlag = False,
) -> None:
    """Show an event and what became of it for each robot; to admins its headers and body as well, while they are kept.

    Of refused posts the last one is shown. Credentials are never shown.
    """
    found = with_api(lambda api: api.event(source, event_id))
    if json:
        say_json(found)
        return
    kind, again = found["type"] or "no type", found["repeats"]
    say(f"{found['event_id']} of {source}: {kind}, {found['status']} at {utc_text(found['received_at'])}")
    if again:
        say(f"  posted again {again} times, the last at {utc_text(found['last_at'])}")
    for run in found["triggers"]:
        say(f"  {run['member_id']}: {run['state']}, execution {run['execution_id']}")
    if reason := " ".join(filter(None, (found.get("reason"), found.get("cause")))):
        say(f"  {reason}, request {found['request_id']}")
    elif not found["triggers"]:
        say("  no robot wanted it: see the events that each robot subscribes to")
    if post := found.get("post"):
        _say_post(post)
    elif why := found.get("no_post"):
        say(f"  {why}")


def _say_post(post: Json) -> None:
    say("  headers:")
    for name, value in post["headers"].items():
        say(f"    {name}: {_printable(value)}")
    say(f"  body, {post['size']} bytes{', of which this is the beginning' if post['cut'] else ''}:")
    for line in _indented(post["body"]).splitlines():
        say(f"    {_printable(line)}")


def _indented(body: str) -> str:
    try:
        return jsons.dumps(jsons.loads(body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return body


def _printable(line: str) -> str:
    """Without what a terminal would obey: anybody may have written it."""
    return "".join(each if each.isprintable() or each == "\t" else "\ufffd" for each in line)


async def _lines(api: Api, source: str, limit: int) -> list[Json]:
    names = [source] if source else [one["name"] for one in await api.sources() if one.get("type") != "database"]
    logs = await asyncio.gather(*(api.source_log(name, limit) for name in names))
    lines = [{"source": name, **line} for name, log in zip(names, logs, strict=True) for line in log]
    return sorted(lines, key=lambda line: str(line["last_at"]), reverse=True)


def _row(line: dict[str, Any]) -> tuple[object, ...]:
    runs = ", ".join(f"{run['member_id']} {run['execution_id']}" for run in line["triggers"])
    became = runs or " ".join(filter(None, (line["reason"], line["cause"]))) or "-"
    what = (line[name] or "-" for name in ("source", "status", "count", "type"))
    return line["last_at"], *what, line["event_id"] or line.get("request_id") or "-", became
