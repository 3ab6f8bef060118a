"""The effects of a run's end on its robot: its error status, and a daemon's next run."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rota_contracts.envelope import Event
from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1
from rota_contracts.messages.trigger import TriggerReceivedV1, TriggerType
from scheduler.domain.batch import Batch, StoredTrigger
from scheduler.domain.robot_summary import Key, RobotSummary
from scheduler.event_publisher import EventPublisher
from scheduler.ports import Robots

FAILED = {ExecStatus.FAILED: True, ExecStatus.COMPLETED: False}
"""Is the run a failure? A cancelled one is neither."""

KEPT = 10_000


class Rearm(Protocol):
    def __call__(self, key: Key, execution: str, *, failed: bool | None) -> Awaitable[None]: ...


@dataclass(kw_only=True)
class RunEndEffects:
    """Idempotent: facts are published again under the same ids, and a daemon's clock moves on once."""

    robots: Robots
    publisher: EventPublisher
    rearm: Rearm
    _published: dict[Key, tuple[int, bool]] = field(default_factory=dict, init=False)

    async def __call__(
        self, ends: Sequence[Event[ExecutionFinishedV1]], batch: Batch, cancelled: Sequence[StoredTrigger]
    ) -> None:
        """`ends` were reported, `batch` is written, `cancelled` are the triggers that it cancelled."""
        for event in ends:
            end = event.data
            summary = await self._summary((end.team_id, end.member_id))
            if summary is not None:
                await self._publish_status(summary, event)
                await self._rearm_daemon(summary, end.execution_id, failed=FAILED.get(end.status))
        for decided in batch.decided:
            if not decided.accepted:
                await self._end_unstarted(decided.trigger, decided.execution_id, failed=True)
        for stored in cancelled:
            await self._end_unstarted(stored.trigger, stored.execution_id, failed=None)

    async def _summary(self, key: Key) -> RobotSummary | None:
        try:
            return await self.robots.find(*key)
        except Exception:  # a robot that can't be read keeps its status; nothing of the run depends on it
            return None

    async def _publish_status(self, summary: RobotSummary, end: Event[ExecutionFinishedV1]) -> None:
        """Publish changes only: the gateway's status of the robot returns in its summary."""
        failed = FAILED.get(end.data.status)
        rev, failing = self._published.get(summary.key, (summary.rev, summary.failure is not None))
        if rev != summary.rev:
            failing = summary.failure is not None
        if failed is None or failed == failing:
            return
        await (self.publisher.publish_failed(end) if failed else self.publisher.publish_recovered(end))
        if len(self._published) >= KEPT:
            self._published.clear()
        self._published[summary.key] = summary.rev, failed

    async def _end_unstarted(self, trigger: TriggerReceivedV1, execution_id: str, *, failed: bool | None) -> None:
        if trigger.type is TriggerType.CLOCK and (summary := await self._summary((trigger.team_id, trigger.member_id))):
            await self._rearm_daemon(summary, execution_id, failed=failed)

    async def _rearm_daemon(self, summary: RobotSummary, execution_id: str, *, failed: bool | None) -> None:
        if summary.daemon:
            await self.rearm(summary.key, execution_id, failed=failed)
