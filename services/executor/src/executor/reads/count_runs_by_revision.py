"""Counts of how runs have ended, by the revision of definitions or of their robot that they began with."""

from dataclasses import dataclass

from executor.ports import RunQueries
from rota_contracts.messages.definition import CountRuns, RunCounts


@dataclass(frozen=True, kw_only=True)
class CountRunsByRevision:
    runs: RunQueries

    async def __call__(self, request: CountRuns) -> RunCounts:
        return await self.runs.count(request)
