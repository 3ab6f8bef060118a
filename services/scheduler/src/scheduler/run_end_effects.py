"""What follows from the end of a run for its robot: its status, and a daemon's next run (TG-18, SC-05)."""

from collections.abc import Sequence

from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1
from rota_contracts.messages.trigger import TriggerReceivedV1, TriggerType
from scheduler.event_publisher import Announce
from scheduler.ports import Batch, Known, Robots
from scheduler.robot_summary import Card, Key
from scheduler.tick import RearmDaemon

JUDGED = {ExecStatus.FAILED: True, ExecStatus.COMPLETED: False}
"""Is the run a failure? A cancelled one is neither."""

KEPT = 10_000


class Aftermath:
    """Safe to do again: what was told is told under the same id, and a daemon's clock moves on once."""

    def __init__(self, robots: Robots, announce: Announce, rearm: RearmDaemon) -> None:
        self._robots, self._announce, self._rearm = robots, announce, rearm
        self._judged: dict[Key, tuple[int, bool]] = {}

    async def __call__(self, ends: Sequence[ExecutionFinishedV1], batch: Batch, gone: Sequence[Known]) -> None:
        """`ends` have been reported, `batch` has been written, `gone` are those that it has taken back."""
        for end in ends:
            card = await self._card((end.team_id, end.member_id))
            if card is not None:
                await self._judge(card, end)
                await self._follow(card, end.execution_id, failed=JUDGED.get(end.status))
        for decided in batch.decided:
            if not decided.accepted:
                await self._not_begun(decided.trigger, decided.execution_id, failed=True)
        for known in gone:
            await self._not_begun(known.trigger, known.execution_id, failed=None)

    async def _card(self, key: Key) -> Card | None:
        try:
            return await self._robots.find(*key)
        except Exception:  # what can't be read can't be judged either; nothing of the run depends on it
            return None

    async def _judge(self, card: Card, end: ExecutionFinishedV1) -> None:
        """Tell only what changes: the gateway's word of it comes back in the card."""
        failed = JUDGED.get(end.status)
        rev, failing = self._judged.get(card.key, (card.rev, card.failure is not None))
        if rev != card.rev:
            failing = card.failure is not None
        if failed is None or failed == failing:
            return
        await (self._announce.failed(end) if failed else self._announce.recovered(end))
        if len(self._judged) >= KEPT:
            self._judged.clear()
        self._judged[card.key] = card.rev, failed

    async def _not_begun(self, trigger: TriggerReceivedV1, execution_id: str, *, failed: bool | None) -> None:
        if trigger.type is TriggerType.CLOCK and (card := await self._card((trigger.team_id, trigger.member_id))):
            await self._follow(card, execution_id, failed=failed)

    async def _follow(self, card: Card, execution_id: str, *, failed: bool | None) -> None:
        if card.daemon:
            await self._rearm(card.key, execution_id, failed=failed)
