"""The fact that a team is removed."""

from rota_common.bus.connection import Bus
from rota_common.bus.publishing import Publish
from rota_contracts.catalog import TEAM_REMOVED
from rota_contracts.ids import derived_id
from rota_contracts.messages.team_facts import TeamRemovedV1
from rota_contracts.model import ALL
from trigger_gateway.adapters.nats_definitions import check_connected, transient
from trigger_gateway.teams.ports import RemovedTeam


class NatsTeamEvents:
    def __init__(self, bus: Bus, publish: Publish) -> None:
        self._bus, self._publish = bus, publish

    async def publish(self, removed: RemovedTeam, *, round: int) -> None:
        check_connected(self._bus)
        fact = TeamRemovedV1(team_id=removed.id, member_id=ALL, removed_at=removed.removed_at, round=round)
        with transient():
            cause = derived_id("team removed", removed.id, removed.removed_at, round)
            await self._publish(TEAM_REMOVED, fact, caused_by=cause)
