"""What follows from the end of a run for its robot: its status, and a daemon's next run (TG-18, SC-05)."""

from collections.abc import Sequence

from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1
from rota_contracts.messages.trigger import TriggerReceivedV1, TriggerType
from scheduler.event_publisher import EventPublisher
from scheduler.ports import Batch, Robots, StoredTrigger
from scheduler.robot_summary import Key, RobotSummary
from scheduler.tick import RearmDaemon

JUDGED = {ExecStatus.FAILED: True, ExecStatus.COMPLETED: False}
"""Is the run a failure? A cancelled one is neither."""

KEPT = 10_000


class RunEndEffects:
    """Safe to do again: what was told is told under the same id, and a daemon's clock moves on once."""

    def __init__(self, robots: Robots, publisher: EventPublisher, rearm: RearmDaemon) -> None:
        self._robots, self._publisher, self._rearm = robots, publisher, rearm
        self._judged: dict[Key, tuple[int, bool]] = {}

    async def __call__(self, ends: Sequence[ExecutionFinishedV1], batch: Batch, gone: Sequence[StoredTrigger]) -> None:
        """`ends` have been reported, `batch` has been written, `gone` are those that it has taken back."""
        for end in ends:
            summary = await self._summary((end.team_id, end.member_id))
            if summary is not None:
                await self._judge(summary, end)
                await self._follow(summary, end.execution_id, failed=JUDGED.get(end.status))
        for decided in batch.decided:
            if not decided.accepted:
                await self._not_begun(decided.trigger, decided.execution_id, failed=True)
        for stored in gone:
            await self._not_begun(stored.trigger, stored.execution_id, failed=None)

    async def _summary(self, key: Key) -> RobotSummary | None:
        try:
            return await self._robots.find(*key)
        except Exception:  # what can't be read can't be judged either; nothing of the run depends on it
            return None

    async def _judge(self, summary: RobotSummary, end: ExecutionFinishedV1) -> None:
        """Tell only what changes: the gateway's word of it comes back in the card."""
        failed = JUDGED.get(end.status)
        rev, failing = self._judged.get(summary.key, (summary.rev, summary.failure is not None))
        if rev != summary.rev:
            failing = summary.failure is not None
        if failed is None or failed == failing:
            return
        await (self._publisher.publish_failed(end) if failed else self._publisher.publish_recovered(end))
        if len(self._judged) >= KEPT:
            self._judged.clear()
        self._judged[summary.key] = summary.rev, failed

    async def _not_begun(self, trigger: TriggerReceivedV1, execution_id: str, *, failed: bool | None) -> None:
        if trigger.type is TriggerType.CLOCK and (summary := await self._summary((trigger.team_id, trigger.member_id))):
            await self._follow(summary, execution_id, failed=failed)

    async def _follow(self, summary: RobotSummary, execution_id: str, *, failed: bool | None) -> None:
        if summary.daemon:
            await self._rearm(summary.key, execution_id, failed=failed)
