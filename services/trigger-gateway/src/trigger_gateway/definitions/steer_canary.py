"""Canaries: a set that a share of new runs begins with, its figures beside the current one's, and its end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rota_common.clock import Clock
from rota_contracts.messages.definition import CountRuns, RunCount
from trigger_gateway.definitions.ports import DefinitionJudge, DefinitionStore
from trigger_gateway.definitions.record import Head, Next, aborted, promoted, with_share
from trigger_gateway.definitions.write_head import WriteHead
from trigger_gateway.problems import NotFound


@dataclass(frozen=True, kw_only=True)
class SteerCanary:
    store: DefinitionStore
    write: WriteHead
    judge: DefinitionJudge
    clock: Clock

    async def figures(self, team: str) -> tuple[Head, Sequence[RunCount]]:
        """How runs with the current set and with the canary's have ended since it began, in this order. Raises NotFound
        where there is none."""
        head = await self.store.head(team)
        if (canary := head.current.canary) is None:
            raise NotFound("no_canary", f"team {team} has no canary")
        wanted = CountRuns(team_id=team, revs=[head.current.rev, canary.rev], since=canary.since)
        return head, (await self.judge.count(wanted)).counts

    async def set_share(self, team: str, share: int) -> Head:
        return await self._change(team, partial(with_share, share=share))

    async def promote(self, team: str) -> Head:
        return await self._change(team, promoted)

    async def abort(self, team: str) -> Head:
        return await self._change(team, aborted)

    async def _change(self, team: str, change: Callable[[Head], Head]) -> Head:
        """Raises Conflict where there is no canary."""

        async def make(head: Head) -> Next:
            return Next(change(head))

        return (await self.write(team, make, at=self.clock())).head
