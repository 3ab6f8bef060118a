"""The circuit breakers of targets in one replica, and the switch of targets that fail for long."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from delivery_center.domain.circuit_breaker import Allowed, Blocked, Circuit, after, allow, has_breaker
from delivery_center.domain.delivery import Delivery, Target
from delivery_center.domain.retry_policy import Outcome, PermanentFailure, Succeeded, TransientFailure
from delivery_center.domain.target_health import (
    FailingTarget,
    TargetRef,
    disabled_reason,
    reason_to_disable,
    target_ref,
)
from delivery_center.ports import FailingTargets, TargetEvents
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.runtime.logs import logger
from rota_common.runtime.metrics import TARGETS_BLOCKED

REFRESH_S = 2.0
"""Between two reads of what the other replicas have stored."""

SUCCESS_REMEMBERED = timedelta(seconds=30)
"""How long a success outweighs an earlier failure that is read later."""

PUBLISH_GRACE = timedelta(seconds=10)
"""A switch that is unpublished for longer was left by a replica that died."""

CIRCUITS = 10_000


@dataclass(kw_only=True)
class CircuitBreakers:
    """Healthy targets cost nothing: neither a write nor a read of the store.

    `disable_after`: how long a target may fail with no success before it is disabled. `probe_for`: how long an attempt
    may take. `recovered`: team and id of targets that have answered after failures, or are enabled.
    """

    store: FailingTargets
    events: TargetEvents
    clock: Clock
    random: Random
    disable_after: timedelta
    probe_for: timedelta
    recovered: set[tuple[str, str]] = field(init=False, default_factory=set)
    _known: dict[str, FailingTarget] = field(init=False, default_factory=dict)
    _circuits: dict[str, Circuit] = field(init=False, default_factory=dict)
    _succeeded: dict[str, datetime] = field(init=False, default_factory=dict)

    def disabled_reason(self, target: Target) -> str | None:
        """None if the target is enabled."""
        known = self._known.get(target.target_id) if has_breaker(target) else None
        return None if known is None else disabled_reason(known)

    def allow(self, target: Target) -> Allowed | Blocked:
        """Whether an attempt at the target passes now."""
        circuit = self._circuits.get(target.target_id) if has_breaker(target) else None
        if circuit is None:
            return Allowed()
        now = self.clock()
        self._circuits[target.target_id], answer = allow(circuit, now=now, probe_for=self.probe_for)
        if isinstance(answer, Allowed):
            return answer
        jitter = self.random.uniform(0, 0.2) * (answer.until - now)  # they don't all come back at once
        return Blocked(answer.until + jitter)

    async def record(self, delivery: Delivery, target: Target, outcome: Outcome, allowed: Allowed) -> None:
        """Record the outcome of an attempt. An unavailable store is no reason to attempt it again."""
        if not has_breaker(target):
            return
        self._turn_circuit(target.target_id, outcome, allowed)
        try:
            match outcome:
                case Succeeded():
                    await self._record_success(target.target_id)
                case TransientFailure() | PermanentFailure():
                    await self._record_failure(target_ref(delivery, target), outcome)
        except Transient as error:
            _log().warning("can't record the health of a target", target_id=target.target_id, reason=str(error))

    async def disable(self, target: TargetRef, reason: str) -> FailingTarget | None:
        """None if it is disabled already."""
        return await self._switched(await self.store.disable(target, reason, self.clock()))

    async def enable(self, team: str, target_id: str) -> FailingTarget | None:
        """None if it is enabled already."""
        return await self._switched(await self.store.enable(team, target_id, self.clock()))

    async def keep_current(self) -> None:
        """As `refresh`; an unavailable store is logged."""
        try:
            await self.refresh()
        except Transient as error:
            _log().warning("can't read the targets", reason=str(error))

    async def refresh(self) -> None:
        """Read what the other replicas have stored, and publish switches that a dead replica has left unpublished."""
        now = self.clock()
        known = {target.target_id: target for target in await self.store.all()}
        self.close(before.target_id for before in self._known.values() if _is_open_again(before, known))
        self._known = known
        TARGETS_BLOCKED.labels("disabled").set(sum(target.disabled_at is not None for target in known.values()))
        TARGETS_BLOCKED.labels("open").set(sum(each.open_until is not None for each in self._circuits.values()))
        for target in known.values():
            succeeded = self._succeeded.get(target.target_id)
            if succeeded is not None and target.last_at is not None and target.last_at <= succeeded:
                await self.store.record_success(target.target_id, succeeded)
            if target.unpublished and now - (target.disabled_at or target.enabled_at or now) > PUBLISH_GRACE:
                await self._publish(target)
        self._succeeded = {target_id: at for target_id, at in self._succeeded.items() if now - at < SUCCESS_REMEMBERED}

    def close(self, target_ids: Iterable[str]) -> None:
        """The next attempts at these targets pass."""
        for target_id in target_ids:
            self._circuits.pop(target_id, None)

    def _turn_circuit(self, target_id: str, outcome: Outcome, allowed: Allowed) -> None:
        circuit = self._circuits.pop(target_id, Circuit())
        turned = after(circuit, outcome, allowed, now=self.clock(), random=self.random)
        if turned is not None and turned != Circuit():
            self._circuits[target_id] = turned
        if len(self._circuits) > CIRCUITS:
            del self._circuits[next(iter(self._circuits))]

    async def _record_success(self, target_id: str) -> None:
        now = self.clock()
        self._succeeded[target_id] = now
        known = self._known.get(target_id)
        if known is not None and known.disabled_at is None:
            del self._known[target_id]
            self.recovered.add((known.team_id, target_id))
            await self.store.record_success(target_id, now)

    async def _record_failure(self, ref: TargetRef, outcome: TransientFailure | PermanentFailure) -> None:
        now = self.clock()
        self._succeeded.pop(ref.target_id, None)
        target = self._known[ref.target_id] = await self.store.record_failure(ref, outcome.error, now)
        reason = reason_to_disable(target, outcome, now=now, disable_after=self.disable_after)
        if reason is not None and target.disabled_at is None:
            await self.disable(ref, reason)

    async def _switched(self, target: FailingTarget | None) -> FailingTarget | None:
        if target is None:
            return None
        self._known[target.target_id] = target
        self._circuits.pop(target.target_id, None)
        if target.disabled_at is None:
            self.recovered.add((target.team_id, target.target_id))
        await self._publish(target)
        return target

    async def _publish(self, target: FailingTarget) -> None:
        """If it can't be published now, a later refresh does it."""
        try:
            await self.events.publish(target)
            await self.store.mark_published(target)
        except Transient as error:
            _log().warning("can't publish that a target was switched", target_id=target.target_id, reason=str(error))


def _is_open_again(before: FailingTarget, known: Mapping[str, FailingTarget]) -> bool:
    """It has recovered or was enabled, or a person asked to try it."""
    now = known.get(before.target_id)
    if now is None:
        return True
    return (before.disabled_at is not None and now.disabled_at is None) or before.retry_at != now.retry_at


def _log() -> Any:
    return logger(service="delivery-center")
