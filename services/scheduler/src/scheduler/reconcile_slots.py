"""Slots whose holder was not heard of for a while: the executor is asked what has become of it.

Reports can be lost with a stream, and an execution with its document. Nobody's slot shall be lost with them.
"""

from collections.abc import Sequence
from datetime import datetime
from time import monotonic
from typing import Any

from rota_common.bus.rpc import Ask
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_contracts.catalog import CHECK_SLOTS
from rota_contracts.envelope import Event
from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1, ExecutionStartedV1
from rota_contracts.messages.executor_capacity import CheckSlots, SlotState
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from scheduler.decide import IncomingEvent, Report
from scheduler.domain import Entry, QueueState

AT_ONCE = 500
LIVE = (ExecStatus.PENDING, ExecStatus.RUNNING, ExecStatus.WAITING, ExecStatus.PAUSED)


class ReconcileSlots:
    """`patience`: seconds after which an entry is asked after, and asked after again. `timeout`: seconds to wait for
    the answer; whoever dispatches must not lose the lease over it."""

    def __init__(self, ask: Ask, clock: Clock, *, patience: float, timeout: float) -> None:
        self._ask, self._clock, self._patience, self._timeout = ask, clock, patience, timeout
        self._heard: dict[str, float] = {}

    async def __call__(self, queue_state: QueueState) -> list[IncomingEvent]:
        """What the executor says of those that are due to be asked after, as if it had reported it itself."""
        entries, now = {**queue_state.active, **queue_state.parked}, monotonic()
        self._heard = {each: self._heard.get(each, now) for each in entries}
        late = [each for each, at in self._heard.items() if now - at >= self._patience][:AT_ONCE]
        if not late:
            return []
        try:
            checked = await self._ask(CHECK_SLOTS, CheckSlots(execution_ids=late), timeout=self._timeout)
        except (Transient, Permanent):  # no executor is there: whoever comes goes on with them
            return []
        self._heard.update(dict.fromkeys(late, now))
        reports = [self._report(entries[slot.execution_id], slot, queue_state) for slot in checked.slots]
        return self._events([report for report in reports if report is not None])

    def _report(self, entry: Entry, slot: SlotState, queue_state: QueueState) -> Report | None:
        """The report that must have been lost; None if there is none."""
        whose: dict[str, Any] = {
            "team_id": entry.team,
            "member_id": entry.member,
            "execution_id": entry.execution_id,
        }
        at, begun = self._clock(), entry.running or entry.parks > 0
        if slot.status is None:
            return _over(whose, at, ExecStatus.FAILED, "no executor has it any more") if begun else None
        if slot.status not in LIVE:
            return _over(whose, at, slot.status, slot.error)
        if slot.status is ExecStatus.PENDING and slot.parks > slot.granted:
            wants = slot.parks > entry.parks or entry.execution_id in queue_state.parked
            return ExecutionResumableV1(**whose, parks=slot.parks, resumable_at=at) if wants else None
        if slot.parks > entry.parks:
            return ExecutionParkedV1(**whose, status=slot.status, parks=slot.parks, parked_at=at)
        if slot.granted >= entry.parks and not entry.running and entry.execution_id in queue_state.active:
            return ExecutionStartedV1(**whose, started_at=at, grant=entry.parks)
        return None

    def _events(self, reports: Sequence[Report]) -> list[IncomingEvent]:
        name, now = "rota.v1.rpc.executor.check_slots", self._clock()
        made: list[Any] = [Event(id=name, type=name, source="executor", time=now, data=each) for each in reports]
        return made


def _over(whose: dict[str, Any], at: datetime, status: ExecStatus, error: str | None) -> ExecutionFinishedV1:
    return ExecutionFinishedV1(**whose, trigger_id="", status=status, error=error, finished_at=at)
