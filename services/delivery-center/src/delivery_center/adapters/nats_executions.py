"""Permissions of the executor, over NATS."""

from rota_common.bus.rpc import Ask
from rota_contracts.catalog import MAY_DELIVER
from rota_contracts.messages.delivery import DeliveryPermission, MayDeliver


class NatsExecutions:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def may_deliver(self, team: str, execution_id: str, request_id: str) -> DeliveryPermission:
        return await self._ask(MAY_DELIVER, MayDeliver(team_id=team, execution_id=execution_id, request_id=request_id))
