"""The checks of `rota doctor`. Each returns a finding, and for a problem the repair."""

import asyncio
import platform
import stat
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx

from rota.client import Api
from rota.context import Context, selected
from rota.context_files import context_file
from rota.errors import CliError
from rota.extras import server_extra
from rota.findings import TIMEOUT_S, Finding, Level

MODEL_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


async def run_checks(given: Context, environ: Mapping[str, str]) -> list[Finding]:
    """The findings, from this machine's programs to the services behind them."""
    return [
        _python(),
        *_programs(given),
        _context(given),
        *([await _gateway(given)] if given.url else []),
        *await _servers(given),
        await _qdrant(environ),
        _model(environ),
        await _smtp(environ),
    ]


def _python() -> Finding:
    # An older one can't even install Rota.
    return Finding("python", Level.OK, f"{platform.python_version()}, {sys.executable}")


def _programs(given: Context) -> list[Finding]:
    try:
        with server_extra("rota up"):
            from rota.server.doctor import check_programs
    except CliError as error:
        return [Finding("server", Level.NOTE, error.what, error.hint)]
    return check_programs(given)


async def _servers(given: Context) -> list[Finding]:
    try:
        with server_extra("rota up"):
            from rota.server.doctor import check_mongo, check_nats
    except CliError:
        return []
    found = await check_nats(given) if given.nats_url else []
    return found + ([await check_mongo(given.mongo_url)] if given.mongo_url else [])


def _context(given: Context) -> Finding:
    path = context_file(selected())
    if not path.exists():
        if given.url:
            return Finding("context", Level.OK, "from ROTA_* variables")
        return Finding("context", Level.NOTE, f"{path} does not exist", "`rota up` writes it, or set ROTA_URL")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return Finding("context", Level.MISSING, f"{path} has mode {mode:o}: others can read keys", f"chmod 600 {path}")
    return Finding("context", Level.OK, f"{path}: team {given.team or '?'} at {given.url or '?'}")


async def _gateway(given: Context) -> Finding:
    try:
        async with Api(given.url, given.team or "-", key=given.admin_key or given.api_key) as api:
            ready, answer = await api.ready()
    except (CliError, ValueError) as error:
        return Finding("gateway", Level.MISSING, str(error), "start it with `rota up`, or correct ROTA_URL")
    if ready:
        return Finding("gateway", Level.OK, f"ready at {given.url}")
    return Finding(
        "gateway",
        Level.MISSING,
        f"not ready: {answer.get('problems', 'its log says why')}",
        "check the part that is named",
    )


async def _qdrant(environ: Mapping[str, str]) -> Finding:
    url = environ.get("ROTA_QDRANT_URL", "")
    if not url:
        return Finding("qdrant", Level.OK, "inside the process, in the data folder")
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_S) as http:
            (await http.get(f"{url.rstrip('/')}/readyz")).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Finding("qdrant", Level.MISSING, f"{url}: {error!r}", "start it, or correct ROTA_QDRANT_URL")
    return Finding("qdrant", Level.OK, url)


def _model(environ: Mapping[str, str]) -> Finding:
    present = [name for name in MODEL_KEYS if environ.get(name)]
    connector = environ.get("ROTA_CONNECTOR") or ("openai" if "OPENAI_API_KEY" in present else "rehearsal")
    if connector == "rehearsal":
        return Finding("model", Level.NOTE, "rehearsal: canned answers", "set OPENAI_API_KEY for a real model")
    if connector == "openai" and "OPENAI_API_KEY" not in present:
        return Finding("model", Level.MISSING, "connector openai without OPENAI_API_KEY", "set OPENAI_API_KEY")
    if connector == "anthropic" and "ANTHROPIC_API_KEY" not in present:
        return Finding("model", Level.MISSING, "connector anthropic without its key", "set ANTHROPIC_API_KEY")
    return Finding("model", Level.OK, f"connector {connector}")


async def _smtp(environ: Mapping[str, str]) -> Finding:
    url = environ.get("ROTA_SMTP_URL", "")
    if not url:
        return Finding(
            "smtp", Level.NOTE, "no mail server", "set ROTA_SMTP_URL or `rota up --smtp-url smtp://host:port`"
        )
    parts = urlsplit(url)
    port = parts.port or {"smtps": 465}.get(parts.scheme, 25)
    try:
        opening = asyncio.open_connection(parts.hostname or "", port)
        _, writer = await asyncio.wait_for(opening, TIMEOUT_S)
        writer.close()
    except (OSError, TimeoutError) as error:
        problem = f"no answer from {parts.hostname}:{port}: {error!r}"
        return Finding("smtp", Level.MISSING, problem, "correct ROTA_SMTP_URL")
    return Finding("smtp", Level.OK, f"{parts.hostname}:{port}")
