"""The checks of `rota doctor` that need the extra: programs of this machine, NATS, the services, MongoDB."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import nats
import nats.errors
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError
from nkeys import NkeysError
from pymongo.errors import PyMongoError

from rota.connection_errors import connection_problem
from rota.context import Context, origin
from rota.findings import TIMEOUT_S, Finding, Level
from rota.server.doctor_streams import check_streams
from rota.urls import without_password
from rota_common.bus.connection import asks_for_a_key, identity
from rota_common.nats_admin.config import Folder
from rota_common.nats_admin.permissions import OPERATOR
from rota_common.runtime.embedded_servers import EmbeddedError, find_mongod, find_nats_server
from rota_common.stores.mongo import Mongo
from rota_contracts.catalog import SERVICES
from rota_contracts.streams import Consumer, consumers

LOOKS, LOOK_AGAIN_S = 4, 0.3


def check_programs(given: Context) -> list[Finding]:
    """A missing program is a problem only if no URL of a running server is given."""
    found, nats_server, mongod = [], ("nats-server", find_nats_server), ("mongod", find_mongod)
    for (part, find), url in ((nats_server, given.nats_url), (mongod, given.mongo_url)):
        try:
            found.append(Finding(part, Level.OK, find()))
        except EmbeddedError as error:
            found.append(Finding(part, Level.NOTE if url else Level.MISSING, "no such program", str(error)))
    return found


async def check_nats(given: Context) -> list[Finding]:
    """The server and every service but the gateway: a consumer shows whether its service pulls messages."""
    client, shown = await connect_operator(given), without_password(given.nats_url)
    if isinstance(client, Finding):
        return [client]
    try:
        jetstream = client.jetstream(timeout=TIMEOUT_S)
        found = [Finding("nats", Level.OK, shown), *await check_streams(jetstream)]
        for service in SERVICES[1:]:  # the gateway reads no stream, and was checked over HTTP
            durables = [one for one in consumers() if one.service == service]
            busy, waiting = await _pulls(jetstream, durables)
            if busy:
                found.append(Finding(service, Level.OK, f"pulls messages, {waiting} waiting"))
            else:
                problem = f"does not pull messages, {waiting} waiting"
                found.append(Finding(service, Level.MISSING, problem, "start the service"))
    except (NotFoundError, nats.errors.Error, TimeoutError) as error:
        mend = "declare the streams: python -m rota_common.topology"
        return [Finding("nats", Level.MISSING, f"{shown}: streams or consumers are missing: {error!r}", mend)]
    finally:
        await client.close()
    return found


async def connect_operator(given: Context) -> Client | Finding:
    """The connection of the operator's user; or why there is none."""
    url, key, seen = given.nats_url, operator_key(given), list[Exception]()
    if key and not await asyncio.to_thread(Path(key).exists):
        return Finding("nats", Level.MISSING, f"expected a key in {key}: there is no such file", _correct_key(given))

    async def note(error: Exception) -> None:
        """The default prints a traceback; what `connect` raises says less than the last of these."""
        seen.append(error)

    try:
        who = identity(OPERATOR, key, given.nats_ca_file)
        options = {"connect_timeout": TIMEOUT_S, "allow_reconnect": False, "error_cb": note}
        return await nats.connect(url, **options, **who)
    except (OSError, nats.errors.Error, TimeoutError, ValueError, NkeysError) as error:
        shown, said = without_password(url), [error, *seen]
        if any(map(asks_for_a_key, said)):
            problem = f"{shown} doesn't know the key in {key}" if key else f"{shown} asks for a key: none was sent"
            return Finding("nats", Level.MISSING, problem, _correct_key(given))
        mend = "start it, or correct ROTA_NATS_URL and ROTA_NATS_CA_FILE (with TLS)"
        return Finding("nats", Level.MISSING, connection_problem(shown, said[-1]), mend)


def operator_key(given: Context) -> str:
    """The file with the operator's seed; empty if neither it nor the folder of the keys is set."""
    config = given.nats_config
    return given.nats_nkey_file or (str(Folder(Path(config)).key(OPERATOR)) if config else "")


def _correct_key(given: Context) -> str:
    """What to do about a key that is missing or unknown: which setting names it."""
    if not (given.nats_nkey_file or given.nats_config):
        return f"set ROTA_NATS_NKEY_FILE to the operator's key, keys/{OPERATOR}/nats.nk of `rota nats-config`"
    setting = origin("nats_nkey_file" if given.nats_nkey_file else "nats_config")
    return f"correct {setting}: it names the key; `rota nats-config` writes the operator's to keys/{OPERATOR}/nats.nk"


async def _pulls(jetstream: JetStreamContext, durables: Sequence[Consumer]) -> tuple[bool, int]:
    """Whether anyone works on these consumers, and how many messages wait. Between two pulls no one seems to: it looks
    again."""
    busy, waiting = False, 0
    for look in range(LOOKS):
        await asyncio.sleep(LOOK_AGAIN_S if look else 0)
        infos = [await jetstream.consumer_info(one.stream, one.durable) for one in durables]
        busy = any(info.num_waiting or info.num_ack_pending for info in infos)
        waiting = sum(info.num_pending or 0 for info in infos)
        if busy:
            break
    return busy, waiting


async def check_mongo(url: str) -> Finding:
    shown = without_password(url)
    try:
        mongo = Mongo(url, "admin")
    except (PyMongoError, ValueError) as error:
        return Finding("mongodb", Level.MISSING, f"{shown}: {error}", "correct ROTA_MONGO_URL")
    try:
        hello = await mongo.client.admin.command("hello")
    except PyMongoError as error:
        problem = f"no answer from {shown}: {error!s:.120}"
        return Finding("mongodb", Level.MISSING, problem, "start it, or correct ROTA_MONGO_URL")
    finally:
        await mongo.close()
    if "setName" not in hello:
        return Finding("mongodb", Level.MISSING, f"{shown} is not a replica set", "start mongod with --replSet")
    return Finding("mongodb", Level.OK, shown)
