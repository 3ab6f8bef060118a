"""What `rota doctor` looks at: each check says what it found, and how to mend it."""

import asyncio
import platform
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import nats
import nats.errors
from nats.js.errors import NotFoundError

from rota.client import Api
from rota.context import Context, context_file
from rota.errors import CliError
from rota.server.servers import without_password
from rota_common.bus.connection import identity
from rota_common.nats_admin.config import Folder
from rota_common.nats_admin.permissions import OPERATOR
from rota_common.runtime.embedded_servers import EmbeddedError, find_mongod, find_nats_server
from rota_common.stores.mongo import OUTAGES, Mongo
from rota_contracts.catalog import SERVICES
from rota_contracts.streams import consumers

TIMEOUT_S = 2
MODEL_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


class Level(StrEnum):
    """A `note` is nothing wrong, only good to know."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    part: str
    level: Level
    found: str
    mend: str = ""


async def look_around(given: Context, environ: Mapping[str, str]) -> list[Finding]:
    """Everything, in the order in which a person would look."""
    found = [_python(), *_binaries(given), _context(given)]
    if given.url:
        found.append(await _gateway(given))
    if given.nats_url:
        found += await _bus(given.nats_url, given.nats_config)
    if given.mongo_url:
        found.append(await _mongo(given.mongo_url))
    return [*found, await _qdrant(environ), _model(environ), await _smtp(environ)]


def _python() -> Finding:
    # An older one can't even install Rota.
    return Finding("python", Level.OK, f"{platform.python_version()}, {sys.executable}")


def _binaries(given: Context) -> list[Finding]:
    found, nats_server, mongod = [], ("nats-server", find_nats_server), ("mongod", find_mongod)
    for (part, find), url in ((nats_server, given.nats_url), (mongod, given.mongo_url)):
        try:
            found.append(Finding(part, Level.OK, find()))
        except EmbeddedError as error:
            level = Level.NOTE if url else Level.MISSING
            found.append(Finding(part, level, "no program of our own", str(error)))
    return found


def _context(given: Context) -> Finding:
    path = context_file()
    if not path.exists():
        if given.url:
            return Finding("context", Level.OK, "from ROTA_* variables")
        return Finding("context", Level.NOTE, f"there is no {path}", "`rota up` writes it, or set ROTA_URL")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return Finding("context", Level.MISSING, f"{path} has mode {mode:o}: others can read keys", f"chmod 600 {path}")
    return Finding("context", Level.OK, f"{path}: team {given.team or '?'} at {given.url or '?'}")


async def _gateway(given: Context) -> Finding:
    try:
        async with Api(given.url, given.team or "-", given.api_key) as api:
            ready, told = await api.ready()
    except (CliError, ValueError) as error:
        return Finding("gateway", Level.MISSING, str(error), "start it with `rota up`, or correct ROTA_URL")
    if ready:
        return Finding("gateway", Level.OK, f"ready at {given.url}")
    return Finding("gateway", Level.MISSING, f"not ready: {told.get('problems')}", "look after the part it names")


async def _bus(url: str, config: str) -> list[Finding]:
    """The services are ready when they ask for work; a consumer knows whether anybody does."""
    shown, key = without_password(url), str(Folder(Path(config)).key(OPERATOR)) if config else ""
    try:
        client = await nats.connect(url, connect_timeout=TIMEOUT_S, allow_reconnect=False, **identity(OPERATOR, key))
    except (OSError, nats.errors.Error, TimeoutError) as error:
        mend = "start it, or correct ROTA_NATS_URL and ROTA_NATS_CONFIG, the folder of `rota nats-config`"
        return [Finding("nats", Level.MISSING, f"no answer from {shown}: {error!r}", mend)]
    try:
        jetstream = client.jetstream(timeout=TIMEOUT_S)
        found = [Finding("nats", Level.OK, shown)]
        for service in SERVICES[1:]:  # the gateway takes nothing from the streams, and was asked over HTTP
            durables = [one for one in consumers() if one.service == service]
            infos = [await jetstream.consumer_info(one.stream, one.durable) for one in durables]
            busy = any(info.num_waiting or info.num_ack_pending for info in infos)
            waiting = sum(info.num_pending or 0 for info in infos)
            if busy:
                found.append(Finding(service, Level.OK, f"takes messages, {waiting} waiting"))
            else:
                told = f"nobody takes its messages, {waiting} waiting"
                found.append(Finding(service, Level.MISSING, told, "start the service"))
    except (NotFoundError, nats.errors.Error, TimeoutError) as error:
        mend = "declare the streams: python -m rota_common.topology"
        return [Finding("nats", Level.MISSING, f"{shown}: streams or consumers are missing: {error!r}", mend)]
    finally:
        await client.close()
    return found


async def _mongo(url: str) -> Finding:
    shown, mongo = without_password(url), Mongo(url, "admin")
    try:
        hello = await mongo.client.admin.command("hello")
    except OUTAGES as error:
        told = f"no answer from {shown}: {error!s:.120}"
        return Finding("mongodb", Level.MISSING, told, "start it, or correct ROTA_MONGO_URL")
    finally:
        await mongo.close()
    if "setName" not in hello:
        return Finding("mongodb", Level.MISSING, f"{shown} is no replica set", "start mongod with --replSet")
    return Finding("mongodb", Level.OK, shown)


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
    there = [name for name in MODEL_KEYS if environ.get(name)]
    chosen = environ.get("ROTA_CONNECTOR") or ("openai" if "OPENAI_API_KEY" in there else "rehearsal")
    if chosen == "rehearsal":
        return Finding("model", Level.NOTE, "rehearsal: canned answers", "set OPENAI_API_KEY for a real model")
    if chosen == "openai" and "OPENAI_API_KEY" not in there:
        return Finding("model", Level.MISSING, "connector openai without OPENAI_API_KEY", "set OPENAI_API_KEY")
    if chosen == "anthropic" and "ANTHROPIC_API_KEY" not in there:
        return Finding("model", Level.MISSING, "connector anthropic without its key", "set ANTHROPIC_API_KEY")
    return Finding("model", Level.OK, f"connector {chosen}")


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
        told = f"no answer from {parts.hostname}:{port}: {error!r}"
        return Finding("smtp", Level.MISSING, told, "correct ROTA_SMTP_URL")
    return Finding("smtp", Level.OK, f"{parts.hostname}:{port}")
