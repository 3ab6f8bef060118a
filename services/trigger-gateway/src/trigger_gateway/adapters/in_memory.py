"""All stores of the gateway in memory, for tests."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rota_common.clock import Clock, now
from rota_common.testing.in_memory_stores import InMemoryAttachments, InMemoryTeamDocuments
from rota_common.testing.team_secrets import ForEveryTeam
from trigger_gateway.adapters.encryption import LINKS, AesGcmCipher
from trigger_gateway.adapters.hmac_links import HmacLinks
from trigger_gateway.adapters.in_memory_attachments import InMemoryAttachmentRecords
from trigger_gateway.adapters.in_memory_audit import InMemoryAuditLog
from trigger_gateway.adapters.in_memory_buckets import InMemoryBuckets, InMemoryFilledBuckets
from trigger_gateway.adapters.in_memory_databases import InMemoryDatabases, InMemoryStreamLeases
from trigger_gateway.adapters.in_memory_definitions import InMemoryDefinitionCopies, InMemoryDefinitionStore
from trigger_gateway.adapters.in_memory_inbound_log import InMemoryInboundLog, InMemoryRateStore
from trigger_gateway.adapters.in_memory_members import InMemoryMembers
from trigger_gateway.adapters.in_memory_secrets import InMemorySecrets
from trigger_gateway.adapters.in_memory_stores import (
    InMemoryDefinitions,
    InMemoryKeys,
    InMemoryRequests,
    InMemoryRobotHistory,
    InMemoryRobots,
    InMemorySources,
    InMemoryTeams,
)
from trigger_gateway.adapters.operator_secrets import OperatorFiles
from trigger_gateway.ports import Adapters


def in_memory(
    *, clock: Clock = now, given: Mapping[str, str] | None = None, secrets_key: str = "", **others: Any
) -> Adapters:
    """`given` are secrets that the operator gives every team; `others` replace single adapters by name."""
    cipher = AesGcmCipher(secrets_key)
    made = Adapters(
        teams=InMemoryTeams(),
        keys=InMemoryKeys(),
        sources=InMemorySources(),
        robots=InMemoryRobots(),
        robot_history=InMemoryRobotHistory(),
        members=InMemoryMembers(),
        definitions=InMemoryDefinitions(),
        definition_store=InMemoryDefinitionStore(),
        definition_copies=InMemoryDefinitionCopies(),
        buckets=InMemoryBuckets(),
        filled_buckets=InMemoryFilledBuckets(),
        inbound=InMemoryInboundLog(),
        rates=InMemoryRateStore(),
        requests=InMemoryRequests(),
        stream_leases=InMemoryStreamLeases(clock),
        databases=InMemoryDatabases(),
        attachments=InMemoryAttachments(),
        attachment_records=InMemoryAttachmentRecords(),
        audit=InMemoryAuditLog(),
        cipher=cipher,
        secrets=InMemorySecrets(),
        operator_secrets=OperatorFiles(None, ForEveryTeam(given or {})),
        link_signer=HmacLinks(lambda: cipher.derived(LINKS)),
        team_documents=InMemoryTeamDocuments(),
    )
    return replace(made, **others)
