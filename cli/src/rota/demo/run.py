"""The demo as a command: its deadline, its model, its log."""

import asyncio
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from rota.demo.scenario import RUN_TIMEOUT_S, play
from rota.demo.screen import Screen
from rota.errors import CliError
from rota.output import warn
from rota.running import run
from rota.server.logfile import LogFile, failure_reasons
from rota_common.runtime import logs

DEADLINE_S = 60
REAL_MODEL_DEADLINE_S = 2 * RUN_TIMEOUT_S
"""A model on a laptop may take a minute for each of some thirty calls; the screen says what is waited for."""


def run_demo(*, json: bool) -> bool:
    """True if every party received what it should. CliError when the demo fails or exceeds its deadline."""
    screen, started = Screen(json=json), time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="rota-demo-") as folder,
        LogFile(Path(folder) / "rota.log", on_warning=warn) as log,
        logs.written_to(log),
    ):
        try:
            ok = run(_within_the_deadline(Path(folder), screen, os.environ))
        except CliError as error:
            error.details += failure_reasons(Path(folder) / "rota.log")  # the folder is deleted after this
            raise
    screen.end(ok=ok, seconds=time.monotonic() - started)
    return ok


async def _within_the_deadline(folder: Path, screen: Screen, environ: Mapping[str, str]) -> bool:
    real = bool(environ.get("OPENAI_API_KEY"))
    seconds = REAL_MODEL_DEADLINE_S if real else DEADLINE_S
    _show_model(screen, environ, real=real)
    try:
        async with asyncio.timeout(seconds):
            return await play(folder, screen, connector="openai" if real else "rehearsal", environ=environ)
    except TimeoutError as error:
        raise CliError(
            f"expected the demo to end within {seconds} s; the last line above shows how far it got",
            hint="try again when the machine is less busy, or run `rota doctor`",
        ) from error


def _show_model(screen: Screen, environ: Mapping[str, str], *, real: bool) -> None:
    if real:
        server = environ.get("OPENAI_BASE_URL") or "OpenAI's default server"
        screen.line(f"Model: {environ.get('OPENAI_MODEL') or 'the default of the connector openai'} at {server}.")
        return
    screen.line("Model: none. The rehearsal connector returns canned answers; everything else is real:")
    screen.line("NATS, MongoDB, the seven services, the webhooks and their signatures, the mail, the memory.")
    screen.line("For a real model set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL for another server).")
