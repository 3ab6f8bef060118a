"""All adapters of the gateway: `Adapters` are replaced in tests, `Messaging` runs over any bus."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rota_contracts.messages.attachment import StoredAttachment
from trigger_gateway.databases.change_streams import Databases, StreamLeases
from trigger_gateway.robots.ports import Definitions, RobotEvents, RobotRecords, RobotStates
from trigger_gateway.runs.ports import Executions, Outcomes, Requests, Schedule, Triggers
from trigger_gateway.secrets.ports import OperatorSecrets, Secrets
from trigger_gateway.secrets.sealed_secret import SecretCipher
from trigger_gateway.sources.ports import Sources
from trigger_gateway.teams.ports import Keys, Teams
from trigger_gateway.webhooks.ports import Agents, InboundLog, RateStore


class Attachments(Protocol):
    """Files that go with results. Every method raises Transient when the store is away."""

    async def put(
        self, team: str, name: str, content_type: str, chunks: AsyncIterator[bytes], *, at: datetime
    ) -> StoredAttachment:
        """Store a file under a new id. Nothing is left behind if `chunks` raises."""
        ...

    async def find(self, team: str, file_id: str) -> StoredAttachment | None: ...

    def read(self, stored: StoredAttachment) -> AsyncIterator[bytes]:
        """The content. Raises Permanent before the last chunk if it is damaged."""
        ...


@dataclass(frozen=True, kw_only=True)
class Adapters:
    """Stores and the outside world."""

    teams: Teams
    keys: Keys
    sources: Sources
    robots: RobotRecords
    definitions: Definitions
    inbound: InboundLog
    rates: RateStore
    requests: Requests
    stream_leases: StreamLeases
    databases: Databases
    attachments: Attachments
    cipher: SecretCipher
    secrets: Secrets
    operator_secrets: OperatorSecrets


@dataclass(frozen=True, kw_only=True)
class Messaging:
    """Messages and questions to other services."""

    triggers: Triggers
    outcomes: Outcomes
    executions: Executions
    schedule: Schedule
    robot_states: RobotStates
    robot_events: RobotEvents
    agents: Agents
