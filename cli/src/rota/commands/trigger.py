"""`rota trigger`: a manual trigger, with an optional wait for the run."""

import json as jsonlib
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rota.client import Api, Json
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json, warn
from rota.run_end import RunEnd, wait_for_end
from rota.running import with_api
from rota.uploads import Sendable, parts, sendable
from rota_contracts.messages.media import TEXT_LIMIT
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
    attach: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="With --message: a text, picture, sound or PDF for the robot. Repeatable."),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the run; exit code 1 if it or its delivery did not succeed.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Maximum seconds to --wait for the run.")] = 600,
    json: JsonFlag = False,
) -> None:
    """Trigger a robot now."""
    request = _request(type, action, message, event_type, data, dryrun)
    files = _files(attach or [], request)

    async def start(api: Api) -> tuple[Json, RunEnd | None]:
        with_files = {"messages": [_message(message, await parts(api, files))]} if files else {}
        answer = await (api.trigger if action is None else api.intervene)(member, request | with_files)
        if not json:
            say(f"execution {answer['execution_id']}: {answer['message']}")
        return answer, await wait_for_end(api, answer, timeout=timeout) if wait else None

    answer, end = with_api(start)
    if end is not None:
        end.show(json=json)
    elif json:
        say_json(answer)


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


def _files(paths: list[Path], request: Json) -> list[Sendable]:
    """The files to go with the request, looked at."""
    if paths and request.get("type", Kind.HUMAN) != Kind.HUMAN:
        raise typer.BadParameter(f"--attach goes with a person's message: leave out --type {request['type']}")
    files = sendable(paths)
    for each in files:
        if each.cut:
            warn(f"{each.path} is longer than {TEXT_LIMIT:,} characters: a model is shown its beginning")
    return files


def _message(text: str, files: Sequence[Json] = ()) -> Json:
    """A person's message; with files as a list of parts."""
    parts = [*([{"type": "text", "text": text}] if text else []), *files]
    return {"role": "user", "content": parts if files else text}


def _request(
    kind: Kind, action: InterventionAction | None, message: str, event_type: str, data: str, dryrun: bool
) -> Json:
    mode: Json = {"executor_mode": "dryrun"} if dryrun else {}
    messages: Json = {"messages": [_message(message)]} if message else {}
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
