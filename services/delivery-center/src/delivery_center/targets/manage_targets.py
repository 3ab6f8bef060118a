"""The targets of a team: listing those that fail or are disabled, disabling and enabling one."""

from dataclasses import dataclass

from delivery_center.domain.target_health import FailingTarget, TargetRef, health_of
from delivery_center.ports import FailingTargets
from delivery_center.targets.circuit_breakers import CircuitBreakers
from rota_contracts.messages.targets import ListTargets, SwitchTarget, TargetPage

MOST = 500
"""Targets in one reply, which is one message."""

BY_HAND = "switched off by hand"


@dataclass(frozen=True, kw_only=True)
class ManageTargets:
    """Switching a target is idempotent."""

    store: FailingTargets
    breakers: CircuitBreakers

    async def list(self, asked: ListTargets) -> TargetPage:
        failing = await self.store.of(asked.team_id)
        return TargetPage(targets=[health_of(target) for target in failing[:MOST]])

    async def switch(self, asked: SwitchTarget) -> TargetPage:
        """Any target that a result of the team was sent to, or that is known to fail."""
        known = next((t for t in await self.store.of(asked.team_id) if t.target_id == asked.target_id), None)
        target = known or await self.store.find_delivered(asked.team_id, asked.target_id)
        if target is None:
            return TargetPage(
                refused=f"expected the id of a target that results of {asked.team_id} were sent to, "
                f"not {asked.target_id!r}: see the delivery log and the list of targets"
            )
        switched = await self._switched(target, asked)
        return TargetPage(targets=[health_of(switched or known or FailingTarget(**target.identity()))])

    async def _switched(self, target: TargetRef, asked: SwitchTarget) -> FailingTarget | None:
        if asked.enabled:
            return await self.breakers.enable(asked.team_id, asked.target_id)
        return await self.breakers.disable(target, asked.reason or BY_HAND)
