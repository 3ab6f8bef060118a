"""`rota trigger`: a manual trigger, with an optional wait for the run."""

import json as jsonlib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rota.client import Api, Json
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json
from rota.running import with_api
from rota.waiting import until_finished
from rota_contracts.messages.trigger import InterventionAction


class Kind(StrEnum):
    HUMAN = "human"
    EVENT = "event"
    CLOCK = "clock"


def register(app: typer.Typer) -> None:
    app.command("trigger", epilog='Example: `rota trigger sales-assistant --message "Prepare for BigCorp" --wait`')(
        trigger
    )


def trigger(
    member: Annotated[str, typer.Argument(help="The robot's member_id.")],
    type: Annotated[Kind, typer.Option(help="The type of trigger.")] = Kind.HUMAN,
    action: Annotated[
        InterventionAction | None,
        typer.Option(help="Intervene with this action instead, with --message. `rota intervene` has more options."),
    ] = None,
    message: Annotated[str, typer.Option("--message", "-m", help="The instruction to the robot.")] = "",
    event_type: Annotated[str, typer.Option(help="For --type event, for example lead.created.")] = "",
    data: Annotated[str, typer.Option(help="For --type event: JSON, or @FILE.")] = "{}",
    dryrun: Annotated[bool, typer.Option("--dryrun", help="All steps without model calls and deliveries.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the run; exit code 1 if it did not complete.")] = False,
    timeout: Annotated[float, typer.Option(help="Maximum seconds to --wait.")] = 600,
    json: JsonFlag = False,
) -> None:
    """Trigger a robot now."""
    request = _request(type, action, message, event_type, data, dryrun)

    async def start(api: Api) -> tuple[Json, Json | None]:
        answer = await (api.trigger if action is None else api.intervene)(member, request)
        if not json:
            say(f"execution {answer['execution_id']}: {answer['message']}")
        finished = await until_finished(api, answer, timeout=timeout) if wait else None
        return answer, finished

    answer, finished = with_api(start)
    if json:
        say_json(finished or answer)
    elif finished is not None:
        summary = (finished.get("content") or {}).get("summary") or finished.get("error") or ""
        say(f"{finished['status']}: {summary}")
    if finished is not None and finished["status"] != "completed":
        raise CliError(f"the run {finished['status']}: {finished.get('error') or 'no reason given'}")


def read_data(text: str) -> Json:
    """The JSON object in `text`, or in the file after an @."""
    try:
        raw = Path(text[1:]).read_text() if text.startswith("@") else text
        value: Any = jsonlib.loads(raw)
    except OSError as error:
        raise CliError(f"can't read {text[1:]}: {error.strerror}", hint="give --data JSON, or --data @FILE") from error
    except ValueError as error:
        raise CliError(f"expected JSON in --data: {error}", hint='like --data \'{"name": "John"}\'') from error
    if not isinstance(value, dict):
        raise CliError(f"expected a JSON object in --data, not {raw[:60]}", hint='like --data \'{"name": "John"}\'')
    return value


def _request(
    kind: Kind, action: InterventionAction | None, message: str, event_type: str, data: str, dryrun: bool
) -> Json:
    mode: Json = {"executor_mode": "dryrun"} if dryrun else {}
    messages: Json = {"messages": [{"role": "user", "content": message}]} if message else {}
    if action is not None:
        if action.startswith("plan."):
            raise typer.BadParameter(f"{action} starts no run: use `rota intervene --action {action}`")
        return {"action": action.value} | messages | mode
    if kind is Kind.EVENT:
        if not event_type:
            raise typer.BadParameter("--type event needs --event-type, for example lead.created")
        return {"type": kind.value, "event_type": event_type, "data": read_data(data)} | mode
    if kind is Kind.HUMAN and not message:
        raise typer.BadParameter("expected --message with what to do; --type clock runs the robot as its clock does")
    return {"type": kind.value} | messages | mode
