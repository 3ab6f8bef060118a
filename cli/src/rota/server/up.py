"""`rota up` itself: the stack until a signal, with its keys, its log and its context file."""

import asyncio
import gc
import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from rota import context, context_files
from rota.context import Context
from rota.output import say, say_json, warn
from rota.running import run
from rota.server.bootstrap import ensure_team, load_keys
from rota.server.logfile import LogFile
from rota.server.own_context import free_name, save_own
from rota.server.stack import Stack
from rota.urls import without_password
from rota_common.runtime import logs

NATS_PORT = 4222
"""Where NATS clients expect a server: used if it is free."""

KEPT_PORT = "nats.port"

REHEARSAL, OPENAI = "rehearsal", "openai"


@dataclass(frozen=True, kw_only=True)
class UpOptions:
    """The options of `rota up`. Empty URLs and connector stand for the defaults."""

    data: Path | None
    port: int
    nats_port: int | None
    nats_url: str
    mongo_url: str
    connector: str
    smtp_url: str
    allow_private_targets: str
    secrets: Mapping[str, str] = field(repr=False)
    context: str
    json: bool

    @property
    def model(self) -> str:
        return self.connector or (OPENAI if os.environ.get("OPENAI_API_KEY") else REHEARSAL)


def run_up(options: UpOptions) -> None:
    """Run everything until SIGINT or SIGTERM."""
    with ExitStack() as ends:
        folder = options.data or Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="rota-")))
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        log = ends.enter_context(LogFile(folder / "rota.log", on_warning=warn))
        ends.enter_context(logs.written_to(log))
        try:
            run(_up(options, folder))
        except KeyboardInterrupt:
            _progress(options, "rota", "stopped")


async def _up(options: UpOptions, folder: Path) -> None:
    keys = load_keys(folder, os.environ.get("ROTA_ADMIN_KEY", ""))
    name = await free_name(options.context, folder)
    async with Stack(
        folder,
        nats_url=options.nats_url,
        nats_port=(wanted := _nats_port(options, folder)),
        mongo_url=options.mongo_url,
        connector=options.model,
        http_port=options.port,
        admin_key=keys.admin_key,
        smtp_url=options.smtp_url,
        allow_private_targets=options.allow_private_targets,
        secrets={keys.team: options.secrets},
        progress=lambda part, state: _progress(options, part, state),
    ) as stack:
        if stack.nats:
            _keep_nats_port(options, folder, wanted, urlsplit(stack.nats_url).port)
        keys = await ensure_team(stack.url, folder, keys)
        nats_config = str(stack.nats.path) if stack.nats else ""
        here = Context(
            stack.url,
            keys.team,
            keys.api_key,
            keys.admin_key,
            stack.nats_url,
            stack.mongo_url,
            nats_config,
            model=options.model,
            smtp_url=without_password(options.smtp_url) if options.smtp_url else "",
        )
        gc.freeze()  # what the start has made stays: a full collection would look at it again each time
        _ready(options, folder, here, name, current=await save_own(here, name))
        try:
            await asyncio.Event().wait()
        finally:
            _progress(options, "rota", "finishing messages in progress, then stopping")
            context.forget(here, name)


def _nats_port(options: UpOptions, folder: Path) -> int:
    """The port that was asked for, else that of the last start with this folder: subscribers know it."""
    kept = folder / KEPT_PORT
    if options.nats_port is not None:
        return options.nats_port
    return int(kept.read_text()) if kept.exists() else NATS_PORT


def _keep_nats_port(options: UpOptions, folder: Path, wanted: int, taken: int | None) -> None:
    (folder / KEPT_PORT).write_text(str(taken))
    if wanted not in (0, taken):
        _progress(options, "nats", f"port {wanted} is taken, took {taken} (--nats-port chooses another)")


def _progress(options: UpOptions, part: str, state: str) -> None:
    say_json({"part": part, "state": state}) if options.json else say(f"{part:<9} {state}")


def _ready(options: UpOptions, folder: Path, here: Context, name: str, *, current: bool) -> None:
    if options.json:
        shown = {field: value for field, value in asdict(here).items() if not field.endswith("_key")}
        own = {"context": name, "current": current, "context_file": str(context_files.context_file(name))}
        say_json({"part": "rota", "state": "ready"} | own | shown)
        return
    data = "a temporary folder, deleted at the end (--data keeps it)" if options.data is None else str(folder)
    model = options.model
    if model == REHEARSAL:
        model += ": canned answers instead of a model, everything else is real; OPENAI_API_KEY selects a real model"
    mail = f"sent through {_server(options.smtp_url)}" if options.smtp_url else "not sent: no --smtp-url"
    say("")
    say(f"Rota is ready: {here.url}", style="bold green")
    say(f"  API docs   {here.url}/docs")
    say(f"  NATS       {here.nats_url}")
    say(f"  model      {model}")
    say(f"  data       {data}")
    say(f"  mail       {mail}")
    say(f"  webhooks   to public addresses{_private(options)}")
    say(f"  secrets    {_secrets(options)}")
    say(f"  keys       {context_files.context_file(name)} (team {here.team})")
    say(f"  context    {name}{'' if current else _not_current(name)}")
    _next_steps("rota" if current else f"rota --context {name}", here.team)


def _next_steps(rota: str, team: str) -> None:
    say("")
    say("In another terminal:")
    say(f"  {rota} apply -f examples/robots/sales-assistant.yaml")
    say(f'  {rota} trigger sales-assistant --message "Prepare for the meeting with BigCorp" --wait')
    say(f"  {rota} watch")
    say(f"  {rota} feed-clients add {team} my-program")
    say("Ctrl+C stops everything.")


def _not_current(name: str) -> str:
    """The current context stays that of another Rota that is running."""
    other = context_files.current()
    uses = f"`rota --context {name} …` for one command, `rota context use {name}` for all"
    return f"; commands act on the running Rota of the context {other}: {uses}"


def _private(options: UpOptions) -> str:
    return f", and to {options.allow_private_targets}" if options.allow_private_targets else " alone"


def _secrets(options: UpOptions) -> str:
    names = ", ".join(sorted(options.secrets))
    return f"{names}, and what `rota secrets set NAME` sets" if names else "set one with `rota secrets set NAME`"


def _server(smtp_url: str) -> str:
    return smtp_url.rpartition("@")[2] if "@" in smtp_url else smtp_url
