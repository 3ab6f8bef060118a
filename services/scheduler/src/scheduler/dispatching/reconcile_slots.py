"""The reconciliation of slots: the executor is asked about executions without a report for a while.

Reports can be lost with a stream, and an execution with its document; no slot may be lost with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
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
from scheduler.dispatching.decide import Report, ReportEvent
from scheduler.domain.queue import Entry, QueueState

AT_ONCE = 500
LIVE = (ExecStatus.PENDING, ExecStatus.RUNNING, ExecStatus.WAITING, ExecStatus.PAUSED)


@dataclass(kw_only=True)
class ReconcileSlots:
    """`patience`: seconds without a check after which an entry is checked. `timeout`: seconds to wait for the reply,
    less than the dispatcher's lease."""

    ask: Ask
    clock: Clock
    patience: float
    timeout: float
    _checked: dict[str, float] = field(default_factory=dict, init=False)

    async def __call__(self, queue_state: QueueState) -> list[ReportEvent]:
        """The executor's state of the entries that are due for a check, as the reports that must be lost."""
        entries, now = {**queue_state.active, **queue_state.parked}, monotonic()
        self._checked = {each: self._checked.get(each, now) for each in entries}
        late = [each for each, at in self._checked.items() if now - at >= self.patience][:AT_ONCE]
        if not late:
            return []
        try:
            reply = await self.ask(CHECK_SLOTS, CheckSlots(execution_ids=late), timeout=self.timeout)
        except (Transient, Permanent):  # no executor is alive: the next one goes on with these
            return []
        self._checked.update(dict.fromkeys(late, now))
        reports = [self._report(entries[slot.execution_id], slot, queue_state) for slot in reply.slots]
        return self._events([report for report in reports if report is not None])

    def _report(self, entry: Entry, slot: SlotState, queue_state: QueueState) -> Report | None:
        """The lost report; None if there is none."""
        owner: dict[str, Any] = {
            "team_id": entry.team,
            "member_id": entry.member,
            "execution_id": entry.execution_id,
        }
        at, begun = self.clock(), entry.running or entry.parks > 0
        if slot.status is None:
            return _finished(owner, at, ExecStatus.FAILED, "no executor has it any more") if begun else None
        if slot.status not in LIVE:
            return _finished(owner, at, slot.status, slot.error)
        if slot.status is ExecStatus.PENDING and slot.parks > slot.granted:
            resumable = slot.parks > entry.parks or entry.execution_id in queue_state.parked
            return ExecutionResumableV1(**owner, parks=slot.parks, resumable_at=at) if resumable else None
        if slot.parks > entry.parks:
            return ExecutionParkedV1(**owner, status=slot.status, parks=slot.parks, parked_at=at)
        if slot.granted >= entry.parks and not entry.running and entry.execution_id in queue_state.active:
            return ExecutionStartedV1(**owner, started_at=at, grant=entry.parks)
        return None

    def _events(self, reports: Sequence[Report]) -> list[ReportEvent]:
        name, now = "rota.v1.rpc.executor.check_slots", self.clock()
        made: list[Any] = [Event(id=name, type=name, source="executor", time=now, data=each) for each in reports]
        return made


def _finished(owner: dict[str, Any], at: datetime, status: ExecStatus, error: str | None) -> ExecutionFinishedV1:
    return ExecutionFinishedV1(**owner, trigger_id="", status=status, error=error, finished_at=at)
