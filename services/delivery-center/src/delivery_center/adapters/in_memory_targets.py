"""Failing and disabled targets and their events in memory, for tests."""

from collections.abc import Collection, Sequence
from datetime import datetime

from delivery_center.adapters.in_memory_deliveries import InMemoryDeliveries
from delivery_center.domain.delivery import Delivery
from delivery_center.domain.target_health import FailingTarget, TargetRef

NO_FAILURES = {"failures": 0, "failing_since": None, "last_error": "", "last_at": None}


class InMemoryTargets:
    """`find_delivered` searches in `deliveries`."""

    def __init__(self, deliveries: InMemoryDeliveries | None = None) -> None:
        self._stored: dict[str, FailingTarget] = {}
        self.deliveries = deliveries or InMemoryDeliveries()

    async def all(self) -> list[FailingTarget]:
        return list(self._stored.values())

    async def of(self, team: str) -> list[FailingTarget]:
        theirs = [target for target in self._stored.values() if target.team_id == team]
        return sorted(theirs, key=lambda target: (target.label, target.target_id))

    async def record_failure(self, target: TargetRef, error: str, at: datetime) -> FailingTarget:
        before = self._stored.get(target.target_id) or FailingTarget(**target.identity())
        change = {"failures": before.failures + 1, "failing_since": before.failing_since or at}
        return self._put(before, **target.identity(), **change, last_at=at, last_error=error)

    async def record_success(self, target_id: str, at: datetime) -> None:
        target = self._stored.get(target_id)
        if target is None or target.disabled_at is not None or target.unpublished:
            return
        if target.last_at is not None and target.last_at <= at:
            del self._stored[target_id]

    async def disable(self, target: TargetRef, reason: str, at: datetime) -> FailingTarget | None:
        before = self._stored.get(target.target_id) or FailingTarget(**target.identity())
        if before.disabled_at is not None:
            return None
        change = {"disabled_at": at, "reason": reason, "enabled_at": None, "unpublished": True}
        return self._put(before, **target.identity(), **change)

    async def enable(self, team: str, target_id: str, at: datetime) -> FailingTarget | None:
        before = self._stored.get(target_id)
        if before is None or before.team_id != team or before.disabled_at is None:
            return None
        return self._put(before, **NO_FAILURES, disabled_at=None, reason="", enabled_at=at, unpublished=True)

    async def mark_published(self, target: FailingTarget) -> None:
        stored = self._stored.get(target.target_id)
        if stored is None or (stored.disabled_at, stored.enabled_at) != (target.disabled_at, target.enabled_at):
            return
        stored = self._put(stored, unpublished=False, enabled_at=None)
        if stored.disabled_at is None and stored.failures == 0:
            del self._stored[target.target_id]

    async def request_retry(self, team: str, target_ids: Collection[str], at: datetime) -> None:
        for target in list(self._stored.values()):
            if target.team_id == team and target.target_id in target_ids:
                self._put(target, retry_at=at)

    async def find_delivered(self, team: str, target_id: str) -> TargetRef | None:
        newest: Sequence[Delivery] = sorted(
            self.deliveries.stored.values(), key=lambda each: each.created_at, reverse=True
        )
        for delivery in newest:
            for target in delivery.targets:
                if (delivery.context.team_id, target.target_id) == (team, target_id):
                    member = delivery.context.member_id
                    return TargetRef(
                        target_id=target_id, team_id=team, member_id=member, type=target.type, label=target.label
                    )
        return None

    def _put(self, before: FailingTarget, **change: object) -> FailingTarget:
        stored = self._stored[before.target_id] = FailingTarget.model_validate(before.model_dump() | change)
        return stored


class InMemoryTargetEvents:
    """Records what was published; `failures` are raised first."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.published: list[FailingTarget] = []

    async def publish(self, target: FailingTarget) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.published.append(target)
