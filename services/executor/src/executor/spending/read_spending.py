"""Spending of a team, summed up."""

from dataclasses import dataclass

from executor.ports import RunQueries
from rota_contracts.messages.spend import ReadSpend, SpendReply

ROWS = 1_000


@dataclass(frozen=True, kw_only=True)
class ReadSpending:
    runs: RunQueries

    async def __call__(self, request: ReadSpend) -> SpendReply:
        return await self.runs.spend(request, limit=ROWS)
