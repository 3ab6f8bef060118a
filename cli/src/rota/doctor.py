"""The checks of `rota doctor`. Each returns a finding, and for a problem the repair."""

import asyncio
import platform
import stat
import sys
from collections.abc import Awaitable, Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

import httpx

from rota.client import Api, Json
from rota.connection_errors import connection_hint, connection_problem
from rota.context import Context, own_rota, selected
from rota.context_files import context_file
from rota.doctor_elsewhere import check_services, from_report, is_elsewhere, unasked
from rota.errors import CliError
from rota.extras import server_extra
from rota.findings import TIMEOUT_S, Finding, Level

QDRANT_INSIDE = Finding("qdrant", Level.OK, "inside the process, in the data folder")
NO_SMTP = Finding("smtp", Level.NOTE, "no mail server", "set ROTA_SMTP_URL or `rota up --smtp-url smtp://host:port`")
REHEARSAL = Finding(
    "model", Level.NOTE, "rehearsal: canned answers", "set OPENAI_API_KEY for a real model, before `rota up`"
)
MODEL_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


async def run_checks(given: Context, environ: Mapping[str, str]) -> list[Finding]:
    """The findings: of a Rota elsewhere by its API and the servers that variables name, else of this machine, from its
    programs to the services behind them."""
    gateway, report = await _gateway(given) if given.url else (None, None)
    running = own_rota(given) if report is not None else None
    head = [_context(given), *([gateway] if gateway else [])]
    servers = await _guarded("servers", _servers(given))
    qdrant, smtp = await _guarded("qdrant", _qdrant(environ)), await _guarded("smtp", _smtp(_mail(running, environ)))
    if is_elsewhere(given, answered=report is not None):
        services = [] if report is None else await _guarded("services", check_services(given))
        found = [*head, *from_report(report or {}), *services, *servers]
        return [*found, *unasked(found, answered=report is not None, extra=_has_extra()), *qdrant, *smtp]
    model = _running_model(running) if running and running.model else _model(environ)
    inside = [*servers, *(qdrant or [QDRANT_INSIDE]), model, *(smtp or [NO_SMTP])]
    return [_python(), *_programs(given), *head, *inside]


async def _guarded(part: str, check: Awaitable[list[Finding]]) -> list[Finding]:
    try:
        return await check
    except Exception as error:  # whatever it is, the answer is "missing, because of this"
        mend = "correct the setting that it names, or report it as a bug"
        return [Finding(part, Level.MISSING, f"the check failed: {type(error).__name__} {error}".rstrip(), mend)]


def _python() -> Finding:
    # An older one can't even install Rota.
    return Finding("python", Level.OK, f"{platform.python_version()}, {sys.executable}")


def _has_extra() -> bool:
    return find_spec("nats") is not None


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


async def _gateway(given: Context) -> tuple[Finding, Json | None]:
    """The finding, and the readiness report; None if no Rota answers."""
    try:
        async with Api(given.url, given.team or "-", key=given.admin_key or given.api_key) as api:
            ready, report = await api.ready()
    except CliError as error:
        return Finding("gateway", Level.MISSING, error.what, connection_hint(given.url)), None
    if "ready" not in report:
        problem = f"what answers at {given.url} is not Rota"
        return Finding("gateway", Level.MISSING, problem, "correct ROTA_URL, or `rota context use NAME`"), None
    if ready:
        return Finding("gateway", Level.OK, f"ready at {given.url}"), report
    problem = f"not ready: {report.get('problems', 'its log says why, and so does `rota doctor` with a key')}"
    return Finding("gateway", Level.MISSING, problem, "check the part that is named"), report


async def _qdrant(environ: Mapping[str, str]) -> list[Finding]:
    """Nothing if no server is named."""
    url = environ.get("ROTA_QDRANT_URL", "")
    if not url:
        return []
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_S) as http:
            (await http.get(f"{url.rstrip('/')}/readyz")).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        problem = connection_problem(url, error)
        return [Finding("qdrant", Level.MISSING, problem, "start it, or correct ROTA_QDRANT_URL")]
    return [Finding("qdrant", Level.OK, url)]


def _model(environ: Mapping[str, str]) -> Finding:
    present = [name for name in MODEL_KEYS if environ.get(name)]
    connector = environ.get("ROTA_CONNECTOR") or ("openai" if "OPENAI_API_KEY" in present else "rehearsal")
    if connector == "rehearsal":
        return REHEARSAL
    if connector == "openai" and "OPENAI_API_KEY" not in present:
        return Finding("model", Level.MISSING, "connector openai without OPENAI_API_KEY", "set OPENAI_API_KEY")
    if connector == "anthropic" and "ANTHROPIC_API_KEY" not in present:
        return Finding("model", Level.MISSING, "connector anthropic without its key", "set ANTHROPIC_API_KEY")
    return Finding("model", Level.OK, f"connector {connector}")


def _running_model(own: Context) -> Finding:
    """Of a Rota that runs, whatever this terminal's variables say."""
    return REHEARSAL if own.model == "rehearsal" else Finding("model", Level.OK, f"connector {own.model}")


def _mail(own: Context | None, environ: Mapping[str, str]) -> str:
    """The mail server of the Rota that runs, else the one that this terminal names."""
    return own.smtp_url if own is not None and own.model else environ.get("ROTA_SMTP_URL", "")


async def _smtp(url: str) -> list[Finding]:
    """Nothing if no server is named."""
    if not url:
        return []
    parts = urlsplit(url)
    port = parts.port or {"smtps": 465}.get(parts.scheme, 25)
    try:
        opening = asyncio.open_connection(parts.hostname or "", port)
        _, writer = await asyncio.wait_for(opening, TIMEOUT_S)
        writer.close()
    except (OSError, TimeoutError) as error:
        problem = connection_problem(f"smtp://{parts.hostname}:{port}", error)
        return [Finding("smtp", Level.MISSING, problem, "correct ROTA_SMTP_URL")]
    return [Finding("smtp", Level.OK, f"{parts.hostname}:{port}")]
