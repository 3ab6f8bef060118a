"""The checks of `rota upgrade --check`: versions that run, the topology, stored documents. Nothing is changed."""

from collections.abc import Mapping, Sequence

import nats.errors
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig
from pymongo.errors import ExecutionTimeout, PyMongoError

from rota.client import Api
from rota.context import Context, own_rota
from rota.errors import CliError
from rota.findings import TIMEOUT_S, Finding, Level
from rota.server.doctor import connect_operator
from rota.server.stored_forms import DATABASES
from rota.urls import without_password
from rota_common.nats_admin.compare_topology import consumer_differences, differences, left_over
from rota_common.stores.mongo import Database, Mongo
from rota_common.stores.stored_forms import OlderForm, StoredForm, unreadable_documents
from rota_common.topology import find_stream
from rota_contracts.catalog import SERVICES
from rota_contracts.streams import BUCKETS, STREAMS
from rota_contracts.version import FIRST_REPORTED, VERSION, beside

NEWEST, NAMED, COUNT_MS = 1000, 3, 10_000
MIGRATE = "python -m rota_common.migrate SERVICE in the service's container"
APPLY = "before the services: python -m rota_common.topology of this version, on a cluster with --replicas 3"


async def check_upgrade(given: Context, services: Sequence[str], *, mongo_prefix: str) -> list[Finding]:
    """The findings of a running Rota; a part that wasn't named is a note."""
    found = [await _gateway(given), *[await _service(url) for url in services]]
    found += _unasked_services(given, found)
    found += await _nats(given) if given.nats_url else [_not_named("nats", "ROTA_NATS_URL")]
    return found + (
        await _mongo(given.mongo_url, mongo_prefix) if given.mongo_url else [_not_named("mongodb", "ROTA_MONGO_URL")]
    )


def version_finding(part: str, version: str) -> Finding:
    """`version` is empty if it wasn't said."""
    shown = version or f"no version, as before {FIRST_REPORTED}"
    try:
        fits = beside(version or "0.1.0", VERSION)
    except ValueError as error:
        return Finding(part, Level.MISSING, str(error), "is that a service of Rota?")
    if fits:
        return Finding(part, Level.OK, shown)
    mend = (
        f"upgrade step by step: two versions run side by side if they are one minor version apart, {VERSION} is further"
    )
    return Finding(part, Level.MISSING, shown, mend)


def _not_named(part: str, variable: str) -> Finding:
    return Finding(part, Level.NOTE, "not checked", f"set {variable}", asked=False)


def _unasked_services(given: Context, found: Sequence[Finding]) -> list[Finding]:
    """One note for all. The services of a `rota up` are of one version: they are one process."""
    left = [] if own_rota(given) else [name for name in SERVICES[1:] if name not in {one.part for one in found}]
    if not left:
        return []
    part = "1 service" if len(left) == 1 else f"{len(left)} services"
    return [Finding(part, Level.NOTE, f"not checked: {', '.join(left)}", "set --service URL for each", asked=False)]


async def _gateway(given: Context) -> Finding:
    try:
        async with Api(given.url, given.team or "-", key=given.admin_key or given.api_key) as api:
            _, report = await api.ready()
    except CliError as error:
        return Finding("trigger-gateway", Level.MISSING, error.what, error.hint)
    if "problems" not in report:
        mend = "set ROTA_ADMIN_KEY or a key of a team: without one it doesn't say its version"
        return Finding("trigger-gateway", Level.NOTE, f"{given.url} says no version", mend, asked=False)
    if report["problems"]:
        problem = f"not ready: {report['problems']}"
        return Finding("trigger-gateway", Level.MISSING, problem, "upgrade what is whole: see `rota doctor`")
    return version_finding("trigger-gateway", str(report.get("version", "")))


async def _service(url: str) -> Finding:
    try:
        async with Api(url, "-", key="") as api:
            report = await api.live()
    except CliError as error:
        return Finding(url, Level.MISSING, error.what, "correct --service, or start it")
    if "service" not in report:
        return Finding(url, Level.MISSING, "what answers is not a service of Rota", "correct --service")
    return version_finding(str(report["service"]), str(report.get("version", "")))


async def _nats(given: Context) -> list[Finding]:
    client = await connect_operator(given)
    if isinstance(client, Finding):
        return [client]
    try:
        return await check_topology(client.jetstream(timeout=TIMEOUT_S))
    except (nats.errors.Error, TimeoutError) as error:
        return [Finding("nats", Level.MISSING, f"{without_password(given.nats_url)}: {error!r}", "see `rota doctor`")]
    finally:
        await client.close()


async def check_topology(jetstream: JetStreamContext) -> list[Finding]:
    """What the topology of this version would make or change, and what it would leave."""
    streams = {}
    there: dict[tuple[str, str], ConsumerConfig] = {}
    for name in (*(stream.name for stream in STREAMS), *(bucket.stream for bucket in BUCKETS)):
        if info := await find_stream(jetstream, name):
            streams[name] = info.config
            there |= {(name, str(each.name)): each.config for each in await jetstream.consumers_info(name)}
    wrong = [*differences(streams), *consumer_differences(there)]
    found = [Finding("topology", Level.MISSING, line, APPLY) for line in wrong]
    if not found:
        found.append(Finding("topology", Level.OK, f"as {VERSION} declares it"))
    mend = "an operator's own, or another version's: once that version won't come back, `nats consumer rm`"
    return found + [
        Finding("topology", Level.NOTE, f"consumer {name} isn't declared", mend) for name in left_over(there)
    ]


async def _mongo(url: str, prefix: str) -> list[Finding]:
    try:
        mongo = Mongo(url, "admin")
    except (PyMongoError, ValueError) as error:
        return [Finding("mongodb", Level.MISSING, f"{without_password(url)}: {error}", "correct ROTA_MONGO_URL")]
    try:
        found = []
        for name, forms in DATABASES.items():
            database = mongo.client[f"{prefix}_{name}"]
            found += [await check_documents(database, forms), *await check_older_forms(database, forms)]
        return found
    except PyMongoError as error:
        problem = f"{without_password(url)}: {error!s:.200}"
        return [Finding("mongodb", Level.MISSING, problem, "correct ROTA_MONGO_URL: its user must be able to read")]
    finally:
        await mongo.close()


async def check_documents(database: Database, forms: Mapping[str, StoredForm]) -> Finding:
    unreadable = await unreadable_documents(database, forms, newest=NEWEST)
    if not unreadable:
        return Finding(database.name, Level.OK, f"the newest documents of {', '.join(forms)} can be read")
    named = "; ".join(f"{each.collection} {each.id}: {each.reason}" for each in unreadable[:NAMED])
    mend = f"{VERSION} would set them aside: stay with the version that reads them until they are over, or report it"
    return Finding(database.name, Level.MISSING, f"{len(unreadable)} documents can't be read: {named}", mend)


async def check_older_forms(database: Database, forms: Mapping[str, StoredForm]) -> list[Finding]:
    found = []
    for name, form in forms.items():
        for older in form.older:
            part = f"{database.name}.{name}"
            try:
                count = await database[name].count_documents(dict(older.where), maxTimeMS=COUNT_MS)
            except ExecutionTimeout:
                count = None
            if count != 0:
                found.append(_older(part, "too many to count" if count is None else f"{count}", older))
    return found


def _older(part: str, count: str, older: OlderForm) -> Finding:
    if older.update is None:
        mend = f"{VERSION} reads them no more: {MIGRATE} of the version before, while it runs"
        return Finding(part, Level.MISSING, f"{count} documents {older.what}", mend)
    return Finding(part, Level.NOTE, f"{count} documents {older.what}", f"{MIGRATE}, once all of it is {VERSION}")
