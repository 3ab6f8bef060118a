"""All adapters of the gateway: `Adapters` are replaced in tests, `Messaging` runs over any bus."""

from dataclasses import dataclass

from rota_common.bus.room import BusUsage
from rota_common.stores.team_documents import TeamDocuments
from trigger_gateway.approvals.ports import Approvals, LinkSigner, NoticeRequests
from trigger_gateway.attachments.ports import AttachmentRecords, Attachments
from trigger_gateway.audit.ports import AuditFacts, AuditLog
from trigger_gateway.copies.ports import Buckets, FilledBuckets
from trigger_gateway.databases.change_streams import Databases, StreamLeases
from trigger_gateway.definitions.ports import DefinitionCopies, DefinitionJudge, DefinitionStore
from trigger_gateway.members.ports import Members
from trigger_gateway.robots.ports import Definitions, RobotEvents, RobotHistory, RobotRecords, RobotStates
from trigger_gateway.runs.ports import Executions, Outcomes, Requests, Schedule, Triggers
from trigger_gateway.secrets.ports import OperatorSecrets, Secrets
from trigger_gateway.secrets.sealed_secret import SecretCipher
from trigger_gateway.sources.ports import Sources
from trigger_gateway.teams.ports import Keys, TeamEvents, Teams
from trigger_gateway.webhooks.ports import Agents, InboundLog, RateStore


@dataclass(frozen=True, kw_only=True)
class Adapters:
    """Stores and the outside world."""

    teams: Teams
    keys: Keys
    sources: Sources
    robots: RobotRecords
    robot_history: RobotHistory
    members: Members
    definitions: Definitions
    definition_store: DefinitionStore
    definition_copies: DefinitionCopies
    buckets: Buckets
    filled_buckets: FilledBuckets
    inbound: InboundLog
    rates: RateStore
    requests: Requests
    stream_leases: StreamLeases
    databases: Databases
    attachments: Attachments
    attachment_records: AttachmentRecords
    audit: AuditLog
    cipher: SecretCipher
    secrets: Secrets
    operator_secrets: OperatorSecrets
    link_signer: LinkSigner
    team_documents: TeamDocuments


@dataclass(frozen=True, kw_only=True)
class Messaging:
    """Messages and questions to other services."""

    triggers: Triggers
    outcomes: Outcomes
    executions: Executions
    schedule: Schedule
    robot_states: RobotStates
    robot_events: RobotEvents
    team_events: TeamEvents
    agents: Agents
    usage: BusUsage
    audit_facts: AuditFacts
    approvals: Approvals
    judge: DefinitionJudge
    notices: NoticeRequests
