"""The stores of production: MongoDB, the buckets of NATS, customers' databases."""

from collections.abc import Mapping
from typing import Protocol

from rota_common.runtime.service import Service
from rota_common.stores.attachments import Attachments
from rota_common.stores.mongo import Mongo
from rota_common.stores.team_documents import MongoTeamDocuments
from trigger_gateway.adapters.encryption import LINKS, AesGcmCipher
from trigger_gateway.adapters.hmac_links import HmacLinks
from trigger_gateway.adapters.mongo_attachments import MongoAttachmentRecords
from trigger_gateway.adapters.mongo_audit import MongoAuditLog
from trigger_gateway.adapters.mongo_changes import MongoChanges
from trigger_gateway.adapters.mongo_definitions import MongoDefinitions
from trigger_gateway.adapters.mongo_filled_buckets import MongoFilledBuckets
from trigger_gateway.adapters.mongo_inbound_log import MongoInboundLog
from trigger_gateway.adapters.mongo_members import MongoMembers
from trigger_gateway.adapters.mongo_rates import MongoRateStore
from trigger_gateway.adapters.mongo_requests import MongoRequests
from trigger_gateway.adapters.mongo_robot_history import MongoRobotHistory
from trigger_gateway.adapters.mongo_robots import MongoRobots
from trigger_gateway.adapters.mongo_secrets import MongoSecrets
from trigger_gateway.adapters.mongo_sources import MongoSources
from trigger_gateway.adapters.mongo_stream_leases import MongoStreamLeases
from trigger_gateway.adapters.mongo_teams import MongoKeys, MongoTeams
from trigger_gateway.adapters.nats_buckets import NatsBuckets
from trigger_gateway.adapters.nats_definition_copies import NatsDefinitionCopies
from trigger_gateway.adapters.nats_definitions import NatsDefinitions
from trigger_gateway.adapters.operator_secrets import OperatorFiles
from trigger_gateway.adapters.secrets_key import load_key
from trigger_gateway.adapters.stored_forms import DATABASE
from trigger_gateway.adapters.team_documents import TEAM_DOCUMENTS
from trigger_gateway.ports import Adapters
from trigger_gateway.settings import Settings


class _Collection(Protocol):
    async def prepare(self) -> None: ...


def real(
    settings: Settings, service: Service, *, team_secrets: Mapping[str, Mapping[str, str]] | None = None
) -> Adapters:
    """Prepared when `service` starts, flushed and closed when it stops."""
    clock, cipher = service.runtime.clock, _cipher(settings)
    mongo = Mongo.of(settings, DATABASE)
    keys, sources, robots = MongoKeys(mongo.database), MongoSources(mongo.database), MongoRobots(mongo.database)
    rates, requests = MongoRateStore(mongo.database), MongoRequests(mongo.database, clock)
    inbound = MongoInboundLog(mongo.database, service=service.name, limits=settings.post_limits)
    audit, members, teams = MongoAuditLog(mongo.database), MongoMembers(mongo.database), MongoTeams(mongo.database)
    files, secrets = MongoAttachmentRecords(mongo.database), MongoSecrets(mongo.database)
    leases = MongoStreamLeases(mongo.database, clock, lease=settings.reading_lease)
    definitions, history = MongoDefinitions(mongo.database), MongoRobotHistory(mongo.database)
    stores = (robots, members, sources, keys, inbound, rates, requests, leases, files, audit, secrets, teams)
    _prepare(service, *stores, definitions, history)
    service.on_close(inbound.close)
    service.on_close(mongo.close)
    service.probe("mongo", mongo.ping)
    return Adapters(
        teams=teams,
        keys=keys,
        sources=sources,
        robots=robots,
        robot_history=history,
        members=members,
        definitions=NatsDefinitions(service.bus),
        definition_store=definitions,
        definition_copies=NatsDefinitionCopies(service.bus),
        buckets=NatsBuckets(service.bus),
        filled_buckets=MongoFilledBuckets(mongo.database),
        inbound=inbound,
        rates=rates,
        requests=requests,
        stream_leases=leases,
        databases=MongoChanges(clock),
        attachments=Attachments(service.bus),
        attachment_records=files,
        audit=audit,
        cipher=cipher,
        secrets=secrets,
        operator_secrets=OperatorFiles(settings.secrets_dir, team_secrets),
        link_signer=HmacLinks(lambda: cipher.derived(LINKS)),
        team_documents=MongoTeamDocuments(mongo.database, TEAM_DOCUMENTS),
    )


def _prepare(service: Service, *collections: _Collection) -> None:
    for collection in collections:
        service.on_start(collection.prepare)


def _cipher(settings: Settings) -> AesGcmCipher:
    given = settings.secrets_key.get_secret_value() if settings.secrets_key else ""

    def read() -> str:
        return load_key(given, settings.secrets_key_file)

    return AesGcmCipher(read(), read=read)
