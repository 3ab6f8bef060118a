"""The places that a team's results go to: which of them fail, and switching one off and on."""

from dataclasses import dataclass

from delivery_center.domain.circuit_breaker import FailingTarget, TargetRef, health_of
from delivery_center.ports import FailingTargets
from delivery_center.targets.circuit_breakers import CircuitBreakers
from rota_contracts.messages.targets import ListTargets, SwitchTarget, TargetPage

MOST = 500
"""Listed at once: the answer is one message."""

BY_HAND = "switched off by hand"


@dataclass(frozen=True)
class ManageTargets:
    """Switched twice the same way, a place stays as it is."""

    store: FailingTargets
    breakers: CircuitBreakers

    async def list(self, asked: ListTargets) -> TargetPage:
        breakers = await self.store.of(asked.team_id)
        return TargetPage(targets=[health_of(target) for target in breakers[:MOST]])

    async def switch(self, asked: SwitchTarget) -> TargetPage:
        """Any place that a result of the team went to, or that is known to fail."""
        known = next((t for t in await self.store.of(asked.team_id) if t.target_id == asked.target_id), None)
        place = known or await self.store.seen(asked.team_id, asked.target_id)
        if place is None:
            return TargetPage(
                refused=f"expected the id of a place that results of {asked.team_id} went to, not {asked.target_id!r}: "
                "the ledger of deliveries and the list of targets have them"
            )
        switched = await self._switched(place, asked)
        return TargetPage(targets=[health_of(switched or known or FailingTarget(**place.named()))])

    async def _switched(self, place: TargetRef, asked: SwitchTarget) -> FailingTarget | None:
        if asked.enabled:
            return await self.breakers.enable(asked.team_id, asked.target_id)
        return await self.breakers.disable(place, asked.reason or BY_HAND)
