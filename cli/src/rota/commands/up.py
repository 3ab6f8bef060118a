"""`rota up`: the whole system on this machine, until Ctrl+C."""

import asyncio
import os
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rota import context
from rota.context import Context
from rota.output import JsonFlag, say, say_json, warn
from rota.running import run
from rota.server.bootstrap import admin_key_of, first_team
from rota.server.logfile import LogFile
from rota_common.runtime import logs

if TYPE_CHECKING:
    from rota.server.stack import Stack

NATS_PORT = 4222
"""Where subscribers expect a NATS: taken if nothing else has it."""

REHEARSAL, OPENAI = "rehearsal", "openai"


@dataclass(frozen=True)
class Wishes:
    """How it was asked to run."""

    folder: Path
    temporary: bool
    port: int
    nats_url: str | None
    mongo_url: str | None
    connector: str
    smtp_url: str
    allow_private_targets: str
    json: bool


def register(app: typer.Typer) -> None:
    app.command("up", epilog="Example: `rota up --data ~/rota-data --smtp-url smtp://localhost:1025`")(up)


def up(
    data: Annotated[
        Path | None, typer.Option(help="Keep data and keys in this folder. Default: a temporary one.")
    ] = None,
    port: Annotated[int, typer.Option(help="Of the HTTP API on 127.0.0.1; 0 takes any free one.")] = 8080,
    nats_url: Annotated[
        str | None, typer.Option(envvar="ROTA_NATS_URL", help="A running NATS with JetStream. Default: start one.")
    ] = None,
    mongo_url: Annotated[
        str | None, typer.Option(envvar="ROTA_MONGO_URL", help="A running replica set. Default: start one.")
    ] = None,
    connector: Annotated[
        str,
        typer.Option(envvar="ROTA_CONNECTOR", help="The model. Default: openai if its key is set, else rehearsal."),
    ] = "",
    smtp_url: Annotated[str, typer.Option(envvar="ROTA_SMTP_URL", help="Where mails go: smtp://host:port.")] = "",
    allow_private_targets: Annotated[
        str, typer.Option(envvar="ROTA_ALLOW_PRIVATE_TARGETS", help="Private networks webhooks may go to: CIDR,CIDR.")
    ] = "",
    json: JsonFlag = False,
) -> None:
    """Start everything here: NATS, MongoDB and the seven services, in one process. Ctrl+C stops it all."""
    chosen = connector or (OPENAI if os.environ.get("OPENAI_API_KEY") else REHEARSAL)
    with ExitStack() as ends:
        folder = data or Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="rota-")))
        wishes = Wishes(
            folder.resolve(), data is None, port, nats_url, mongo_url, chosen, smtp_url, allow_private_targets, json
        )
        wishes.folder.mkdir(parents=True, exist_ok=True)
        log = ends.enter_context(LogFile(wishes.folder / "rota.log", tell=warn))
        logs.configure(stream=log)
        try:
            run(_up(wishes))
        except KeyboardInterrupt:
            _progress(wishes, "rota", "stopped")


async def _up(wishes: Wishes) -> None:
    # The seven services take a second to import, and no other command needs them.
    from rota.server.servers import free_or_none
    from rota.server.stack import Stack

    keys = admin_key_of(wishes.folder, os.environ.get("ROTA_ADMIN_KEY", ""))
    async with Stack(
        wishes.folder,
        nats_url=wishes.nats_url,
        nats_port=free_or_none(NATS_PORT),
        mongo_url=wishes.mongo_url,
        connector=wishes.connector,
        http_port=wishes.port,
        admin_key=keys.admin_key,
        smtp_url=wishes.smtp_url,
        allow_private_targets=wishes.allow_private_targets,
        progress=lambda part, state: _progress(wishes, part, state),
    ) as stack:
        keys = await first_team(stack.url, wishes.folder, keys)
        here = Context(
            stack.url, keys.team, keys.api_key, keys.admin_key, stack.nats_url, stack.mongo_url, _nats(stack)
        )
        context.save(here)
        _ready(wishes, here)
        try:
            await asyncio.Event().wait()
        finally:
            _progress(wishes, "rota", "finishing what is in hand, then stopping")
            if wishes.temporary:
                context.forget(here)


def _nats(stack: "Stack") -> str:
    return str(stack.nats.path) if stack.nats else ""


def _progress(wishes: Wishes, part: str, state: str) -> None:
    say_json({"part": part, "state": state}) if wishes.json else say(f"{part:<9} {state}")


def _ready(wishes: Wishes, here: Context) -> None:
    if wishes.json:
        shown = {name: value for name, value in asdict(here).items() if not name.endswith("_key")}
        say_json({"part": "rota", "state": "ready", "context_file": str(context.context_file())} | shown)
        return
    kept = "a temporary folder, gone when this ends (--data keeps it)" if wishes.temporary else str(wishes.folder)
    model = wishes.connector
    if model == REHEARSAL:
        model += ": canned answers stand in for the model, all else is real; OPENAI_API_KEY brings a real one"
    say("")
    say(f"Rota is ready: {here.url}", style="bold green")
    say(f"  API docs   {here.url}/docs")
    say(f"  NATS       {here.nats_url}")
    say(f"  model      {model}")
    say(f"  data       {kept}")
    say(f"  mail       {'sent through ' + _server(wishes.smtp_url) if wishes.smtp_url else 'not sent: no --smtp-url'}")
    say(f"  keys       {context.context_file()} (team {here.team})")
    say("")
    say("In another terminal:")
    say("  rota apply -f examples/robots/sales-assistant.yaml")
    say('  rota trigger sales-assistant --message "Prepare for the meeting with BigCorp" --wait')
    say("  rota watch")
    say(f"  rota subscribers add {here.team} my-program")
    say("Ctrl+C stops everything.")


def _server(smtp_url: str) -> str:
    return smtp_url.rpartition("@")[2] if "@" in smtp_url else smtp_url
