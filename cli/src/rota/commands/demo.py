"""`rota demo`: see the whole system at work, in less than a minute."""

import asyncio
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import typer

from rota.demo.screen import Screen
from rota.errors import CliError
from rota.output import JsonFlag, warn
from rota.running import run
from rota.server.logfile import LogFile, reasons_in
from rota_common.runtime import logs

DEADLINE_S = 60
REAL_MODEL_DEADLINE_S = 300
"""A real model takes seconds for each of some twelve calls."""


def register(app: typer.Typer) -> None:
    app.command("demo", epilog="Example: `rota demo`, or with a real model `OPENAI_API_KEY=… rota demo`")(demo)


def demo(json: JsonFlag = False) -> None:
    """Start everything, post two leads, show who hears of the results. Ends by itself; exit code 0 if all went well."""
    screen, started = Screen(json=json), time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="rota-demo-") as folder,
        LogFile(Path(folder) / "rota.log", tell=warn) as log,
    ):
        logs.configure(stream=log)
        try:
            ok = run(_within_the_deadline(Path(folder), screen, os.environ))
        except CliError as error:
            error.details += reasons_in(Path(folder) / "rota.log")  # the folder, and the log in it, are gone after this
            raise
    screen.end(ok=ok, seconds=time.monotonic() - started)
    raise typer.Exit(0 if ok else 1)


async def _within_the_deadline(folder: Path, screen: Screen, environ: Mapping[str, str]) -> bool:
    # The seven services take a second to import, and no other command needs them.
    from rota.demo.scenario import tell

    real = bool(environ.get("OPENAI_API_KEY"))
    seconds = REAL_MODEL_DEADLINE_S if real else DEADLINE_S
    _say_which_model(screen, environ, real=real)
    try:
        async with asyncio.timeout(seconds):
            return await tell(folder, screen, connector="openai" if real else "rehearsal", environ=environ)
    except TimeoutError as error:
        raise CliError(
            f"the demo wasn't over after {seconds} s; the last line above says how far it came",
            hint="try again when the machine is less busy; `rota doctor` says what is missing",
        ) from error


def _say_which_model(screen: Screen, environ: Mapping[str, str], *, real: bool) -> None:
    if real:
        server = environ.get("OPENAI_BASE_URL") or "the default server of OpenAI"
        screen.line(f"Model: {environ.get('OPENAI_MODEL') or 'the default of the connector openai'} at {server}.")
        return
    screen.line("Model: none. The rehearsal connector answers in its place, always the same; all else is real:")
    screen.line("NATS, MongoDB, the seven services, the webhooks and their signatures, the mail, the memory.")
    screen.line("For a real model set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL for another server).")
