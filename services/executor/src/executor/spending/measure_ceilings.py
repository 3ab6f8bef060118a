"""The measurement of daily ceilings of teams: how much of each is spent or reserved."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from executor.domain.spending import Limit, Payer
from executor.spending.budget_port import Amount
from executor.spending.metered_model import Meter
from rota_common.runtime.metrics import CEILING_USED


@dataclass(frozen=True, kw_only=True)
class MeasureCeilings:
    """`teams`: those that have called models here. Every replica finds the same, as the counters are shared."""

    meter: Meter
    teams: Callable[[], Collection[str]]

    async def __call__(self) -> None:
        found = {}
        for team in self.teams():
            for limit in await self.meter.limits(Payer(team, "", "")):
                found[team] = _used(limit, await self.meter.budget.room(limit))
        CEILING_USED.clear()
        for team, used in found.items():
            for name, share in used.items():
                CEILING_USED.labels(team, name).set(share)


def _used(limit: Limit, room: Amount) -> dict[str, float]:
    amounts = {"money": (limit.money, room.money), "tokens": (limit.tokens, room.tokens)}
    return {name: 1 - left / most for name, (most, left) in amounts.items() if most}
