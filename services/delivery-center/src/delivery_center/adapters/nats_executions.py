"""The executor, asked over NATS."""

from rota_common.asking import Ask
from rota_contracts.catalog import MAY_DELIVER
from rota_contracts.delivery import DeliveryLeave, MayDeliver


class NatsExecutions:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def may_deliver(self, team: str, execution_id: str) -> DeliveryLeave:
        return await self._ask(MAY_DELIVER, MayDeliver(team_id=team, execution_id=execution_id))
