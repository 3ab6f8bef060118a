"""`rota watch`: the team's live events."""

from typing import Annotated

import typer

from rota.client import Api
from rota.event_format import format_event
from rota.output import JsonFlag, say, say_json
from rota.running import with_api
from rota.short_ids import EXECUTION, whole_id


def register(app: typer.Typer) -> None:
    app.command("watch", epilog="Example: `rota watch --robot lead-processor` (Ctrl+C ends it)")(watch)


def watch(
    member: Annotated[str, typer.Option("--robot", "--member", help="Only this robot.")] = "",
    execution: Annotated[str, typer.Option(help="Only this run.")] = "",
    json: JsonFlag = False,
) -> None:
    """Show phases, tasks, verdicts and deliveries live, until Ctrl+C."""

    execution = whole_id(EXECUTION, execution)

    async def follow(api: Api) -> None:
        wanted = {"member_id": member, "execution_id": execution}
        async for event in api.events({name: value for name, value in wanted.items() if value}):
            data = event.get("data") or {}
            if all(not value or _field(data, name) == value for name, value in wanted.items()):
                say_json(event) if json else say(f"{str(event.get('time', ''))[11:19]} {format_event(event)}")

    with_api(follow)


def _field(data: dict[str, object], name: str) -> object:
    """A field of the event; deliveries have the run's fields in their context."""
    context = data.get("context")
    return data.get(name) or (context.get(name) if isinstance(context, dict) else None)
