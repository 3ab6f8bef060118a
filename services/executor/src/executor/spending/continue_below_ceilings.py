"""The end of waits at ceilings: runs go on once there is room again, because a day is over or a ceiling was raised."""

from collections.abc import Sequence
from dataclasses import dataclass

from executor.domain.run import ROOM, Run, Signal
from executor.domain.spending import Limit, payer_of
from executor.ports import Runs, SignalResult
from executor.runs.signals import SendSignal
from executor.spending.budget_port import Amount
from executor.spending.metered_model import Meter, amount_of
from rota_common.clock import Clock
from rota_contracts.ids import derived_id

RUNS_LIMIT = 1_000


@dataclass(frozen=True, kw_only=True)
class ContinueBelowCeilings:
    """No more runs are woken than there is room for, the oldest first. Every replica does it; a signal counts once."""

    runs: Runs
    meter: Meter
    send: SendSignal
    clock: Clock

    async def __call__(self) -> None:
        self.meter.ceilings.refresh()
        left: dict[str, Amount] = {}
        async for run in self.runs.at_ceiling(limit=RUNS_LIMIT):
            limits = await self.meter.limits(payer_of(run, ""))
            if await self._take(limits, run, left):
                await self._wake(run)

    async def _take(self, limits: Sequence[Limit], run: Run, left: dict[str, Amount]) -> bool:
        need = amount_of(run.ceiling) if run.ceiling else Amount()
        for limit in limits:
            if limit.key not in left:
                left[limit.key] = await self.meter.budget.room(limit)
        if any(left[each.key].tokens < need.tokens or left[each.key].money < need.money for each in limits):
            return False
        for limit in limits:
            room = left[limit.key]
            left[limit.key] = Amount(room.tokens - need.tokens, room.money - need.money)
        return True

    async def _wake(self, run: Run) -> None:
        signal_id = derived_id("room", run.id, run.parks)
        signal = Signal(id=signal_id, action=ROOM, reason="there is room below the ceiling", at=self.clock())
        if await self.runs.deliver_signal(run.id, signal) is SignalResult.ACCEPTED:
            self.send.resume([run.id])
