"""`rota watch`: what the team's robots do, as it happens."""

from typing import Annotated

import typer

from rota.client import Api
from rota.event_format import line_of
from rota.output import JsonFlag, say, say_json
from rota.running import with_api


def register(app: typer.Typer) -> None:
    app.command("watch", epilog="Example: `rota watch --member lead-processor` (Ctrl+C ends it)")(watch)


def watch(
    member: Annotated[str, typer.Option(help="Only this robot.")] = "",
    execution: Annotated[str, typer.Option(help="Only this run.")] = "",
    json: JsonFlag = False,
) -> None:
    """Show phases, tasks, verdicts and deliveries live, until Ctrl+C."""

    async def follow(api: Api) -> None:
        wanted = {"member_id": member, "execution_id": execution}
        async for event in api.events({name: value for name, value in wanted.items() if value}):
            data = event.get("data") or {}
            if all(not value or _whose(data, name) == value for name, value in wanted.items()):
                say_json(event) if json else say(f"{str(event.get('time', ''))[11:19]} {line_of(event)}")

    with_api(follow)


def _whose(data: dict[str, object], name: str) -> object:
    """Deliveries say in their context which run they belong to."""
    context = data.get("context")
    return data.get(name) or (context.get(name) if isinstance(context, dict) else None)
