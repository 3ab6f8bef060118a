"""The facts of the audit trail."""

from collections.abc import Sequence

from rota_common.bus.connection import Bus
from rota_common.bus.publishing import Publish
from rota_contracts.catalog import AUDIT_RECORDED
from trigger_gateway.adapters.nats_definitions import check_connected, transient
from trigger_gateway.audit.entry import AuditEntry, fact_of


class NatsAuditFacts:
    def __init__(self, bus: Bus, publish: Publish) -> None:
        self._bus, self._publish = bus, publish

    async def publish(self, entries: Sequence[AuditEntry]) -> None:
        for entry in entries:
            check_connected(self._bus)
            with transient():
                await self._publish(AUDIT_RECORDED, fact_of(entry), caused_by=entry.audit_id)
