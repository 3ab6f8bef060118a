"""The situation of a robot, gathered before it sets goals: what is pending, and what its runs achieved."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from executor.domain.run import Run, Situation
from executor.domain.situation.followed import in_short, is_of_same_robot, texts_of
from executor.domain.situation.recent import RecentRuns, pending_lines, recent_lines, zone_of
from executor.file_ports import Blobs
from executor.ports import Runs
from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent, Transient, Unreadable
from rota_contracts import catalog
from rota_contracts.catalog import Question
from rota_contracts.messages.goal_merge import ListWaiting, WaitingPage
from rota_contracts.messages.plan import ListPlans, PlanPage
from rota_contracts.model import Part

LIMIT = 20
"""Of each kind: plans, executions that wait, executions under way, executions that ended."""

LOOK_BACK = timedelta(days=7)
"""At most, if there was no report meanwhile."""

SHORT = 5
"""Executions under way, and that ended, for runs that make no report."""

ASK_TIMEOUT_S = 2

Q = TypeVar("Q", bound=Part)
A = TypeVar("A", bound=Part)


@dataclass(frozen=True, kw_only=True)
class GatherSituation:
    """What the scheduler doesn't answer is left out and listed as `missing`: the run goes on without."""

    runs: Runs
    blobs: Blobs
    ask: Ask

    async def __call__(self, run: Run, *, rehearsed: bool = False) -> Situation:
        """`rehearsed`: canned answers stand in for a model, so runs of which the same holds are shown too."""
        execution, missing = run.execution, list[str]()
        mine = {"team_id": execution.team_id, "member_id": execution.member_id}
        plans, waiting, recent = await asyncio.gather(
            self._answer(catalog.LIST_PLANS, ListPlans(**mine, limit=LIMIT), missing),
            self._answer(catalog.LIST_WAITING, ListWaiting(**mine, limit=LIMIT), missing),
            self._recent(run, LIMIT, rehearsed=rehearsed),
        )
        zone = zone_of(run)
        plans, waiting = plans or PlanPage(), waiting or WaitingPage()
        return Situation(
            pending=pending_lines(plans.items, waiting.waiting, recent.under_way, zone),
            since=recent.since.astimezone(zone),
            happened=recent_lines(recent.ended, zone),
            missing=sorted(missing),
        )

    async def recent(self, run: Run, *, rehearsed: bool = False) -> Situation:
        """The robot's own runs alone, and few of them."""
        found = await self._recent(run, SHORT, rehearsed=rehearsed)
        zone = zone_of(run)
        return Situation(
            pending=pending_lines((), (), found.under_way, zone),
            since=found.since.astimezone(zone),
            happened=recent_lines(found.ended, zone),
            short=True,
        )

    async def _recent(self, run: Run, limit: int, *, rehearsed: bool) -> RecentRuns:
        found = await self.runs.recent(run, earliest=run.execution.created_at - LOOK_BACK, limit=limit)
        return found if rehearsed else found.without_rehearsed()

    async def followed(self, run: Run, execution_id: str) -> tuple[str, str]:
        """The run that this one follows, in short; else a note on why it isn't known."""
        try:
            other = await self.runs.find(execution_id)
            if other is None or not is_of_same_robot(run, other):
                return "", f"follows: this robot has no execution {execution_id}"
            kept = texts_of(other)
            texts = {text.ref.name: await self.blobs.read(text) for text in kept if text.ref is not None}
        except (Permanent, Unreadable) as error:
            return "", f"follows: execution {execution_id} can't be read: {error}"
        return in_short(other, texts), ""

    async def _answer(self, question: Question[Q, A], request: Q, missing: list[str]) -> A | None:
        try:
            return await self.ask(question, request, timeout=ASK_TIMEOUT_S)
        except (Transient, Permanent) as error:
            missing.append(str(error))
            return None
