"""What a clock run is told of its robot before it sets goals: what is pending, and what came of it lately (EX-11)."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from executor.domain.run import Run, Situation
from executor.domain.situation.recent import happened, pending, zone_of
from executor.ports import Runs
from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent, Transient
from rota_contracts import catalog
from rota_contracts.catalog import Question
from rota_contracts.messages.goal_merge import ListWaiting, WaitingPage
from rota_contracts.messages.plan import ListPlans, PlanPage
from rota_contracts.model import Part

MOST = 20
"""Of each kind: plans, executions that wait, executions under way, executions that ended."""

LONGEST = timedelta(days=7)
"""How far back it looks if there was no report meanwhile."""

ASK_TIMEOUT_S = 2

Q = TypeVar("Q", bound=Part)
A = TypeVar("A", bound=Part)


@dataclass(frozen=True)
class GatherSituation:
    """What the scheduler doesn't say is left out, with a word on it: a run goes on without."""

    runs: Runs
    ask: Ask

    async def __call__(self, run: Run) -> Situation:
        execution, missing = run.execution, list[str]()
        mine = {"team_id": execution.team_id, "member_id": execution.member_id}
        plans, waiting, lately = await asyncio.gather(
            self._asked(catalog.LIST_PLANS, ListPlans(**mine, limit=MOST), missing),
            self._asked(catalog.LIST_WAITING, ListWaiting(**mine, limit=MOST), missing),
            self.runs.recent(run, earliest=execution.created_at - LONGEST, limit=MOST),
        )
        zone = zone_of(run)
        return Situation(
            pending=pending((plans or PlanPage()).items, (waiting or WaitingPage()).waiting, lately.under_way, zone),
            since=lately.since.astimezone(zone),
            happened=happened(lately.ended, zone),
            missing=sorted(missing),
        )

    async def _asked(self, question: Question[Q, A], request: Q, missing: list[str]) -> A | None:
        try:
            return await self.ask(question, request, timeout=ASK_TIMEOUT_S)
        except (Transient, Permanent) as error:
            missing.append(str(error))
            return None
