"""The plan queue in memory."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from rota_contracts.messages.plan import PlanItem, PlanState
from scheduler.domain.plan import NEVER, Plan


class InMemoryPlans:
    """`unreadable`: keys of plans that another version wrote."""

    def __init__(self) -> None:
        self.unreadable: set[str] = set()
        self._plans: dict[str, Plan] = {}

    async def find(self, key: str) -> Plan | None:
        return self._plans.get(key)

    async def add(self, plan: Plan) -> bool:
        return self._plans.setdefault(plan.key, plan) is plan

    async def change(self, plan: Plan) -> bool:
        return self.replace([plan])

    def replace(self, plans: Sequence[Plan]) -> bool:
        """All of them, or none if one isn't stored in its revision before."""
        stored = [self._plans.get(plan.key) for plan in plans]
        if any(was is None or was.changes != plan.changes - 1 for was, plan in zip(stored, plans, strict=True)):
            return False
        for was, plan in zip(stored, plans, strict=True):
            kept = was.unpublished if was else ()
            self._plans[plan.key] = replace(plan, unpublished=(*kept, plan.unpublished[-1]))
        return True

    async def listed(self, team: str, member: str | None, limit: int) -> list[PlanItem]:
        planned = [plan for plan in self._planned() if plan.item.team_id == team]
        return [plan.item for plan in planned if member in (None, plan.item.member_id)][:limit]

    async def due(self, now: datetime, limit: int) -> list[Plan]:
        return [plan for plan in self._planned() if plan.due_at <= now and plan.key not in self.unreadable][:limit]

    async def call(self, robots: Sequence[tuple[str, str]], now: datetime) -> None:
        for plan in self._planned():
            if plan.owner in robots and plan.due_at == NEVER:
                self._plans[plan.key] = replace(plan, due_at=now)

    async def timeless(self, limit: int) -> list[tuple[str, str]]:
        return sorted({plan.owner for plan in self._planned() if plan.due_at == NEVER})[:limit]

    async def postpone(self, plan: Plan, until: datetime) -> None:
        stored = self._plans.get(plan.key)
        if stored is not None and stored.changes == plan.changes:
            self._plans[plan.key] = replace(stored, due_at=until)

    async def unpublished(self, before: datetime, limit: int) -> list[Plan]:
        return [plan for plan in self._plans.values() if any(each.fact.at <= before for each in plan.unpublished)][
            :limit
        ]

    async def mark_published(self, plan: Plan) -> None:
        stored, numbers = self._plans[plan.key], {each.number for each in plan.unpublished}
        left = tuple(each for each in stored.unpublished if each.number not in numbers)
        self._plans[plan.key] = replace(stored, unpublished=left)

    def _planned(self) -> list[Plan]:
        planned = [plan for plan in self._plans.values() if plan.item.state is PlanState.PLANNED]
        return sorted(planned, key=lambda plan: plan.due_at)
