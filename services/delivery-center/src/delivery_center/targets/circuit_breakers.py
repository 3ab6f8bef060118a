"""What this replica knows of the places that fail: whether to send there now, and what an attempt says about one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from delivery_center.domain.circuit_breaker import (
    Allowed,
    Blocked,
    Circuit,
    FailingTarget,
    TargetRef,
    after,
    allow,
    disabled_reason,
    has_breaker,
    reason_to_disable,
)
from delivery_center.domain.delivery import Delivery, Outcome, PermanentFailure, Succeeded, Target, TransientFailure
from delivery_center.ports import FailingTargets, TargetEvents
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.runtime.logs import logger

REFRESH_S = 2.0
"""Between two looks at what the other replicas found out."""

REMEMBERED = timedelta(seconds=30)
"""How long a success counts against a failure that is heard of later."""

ABOUT_TO_SAY = timedelta(seconds=10)
"""A switch that hasn't been published after so long was left so by a replica that died."""

CIRCUITS = 10_000


@dataclass(frozen=True, slots=True)
class Off:
    """Never, for this reason, until somebody enables the place."""

    reason: str


class CircuitBreakers:
    """Healthy places cost nothing: neither a write nor a look at the store.

    `patience`: how long a place may fail with no success before it is switched off. `probe_for`: how long an attempt
    may take.
    """

    def __init__(
        self,
        store: FailingTargets,
        target_events: TargetEvents,
        *,
        clock: Clock,
        random: Random,
        patience: timedelta,
        probe_for: timedelta,
    ) -> None:
        self._store, self._target_events, self._clock, self._random = store, target_events, clock, random
        self._patience, self._probe_for = patience, probe_for
        self._known: dict[str, FailingTarget] = {}
        self._circuits: dict[str, Circuit] = {}
        self._reached: dict[str, datetime] = {}

    def off(self, target: Target) -> Off | None:
        """Is it switched off?"""
        known = self._known.get(target.target_id) if has_breaker(target) else None
        reason = None if known is None else disabled_reason(known)
        return None if reason is None else Off(reason)

    def allow(self, target: Target) -> Allowed | Blocked:
        """May something be sent there now?"""
        circuit = self._circuits.get(target.target_id) if has_breaker(target) else None
        if circuit is None:
            return Allowed()
        now = self._clock()
        self._circuits[target.target_id], answer = allow(circuit, now=now, probe_for=self._probe_for)
        if isinstance(answer, Allowed):
            return answer
        spread = self._random.uniform(0, 0.2) * (answer.until - now)  # they don't all come back at once
        return Blocked(answer.until + spread)

    async def note(self, delivery: Delivery, target: Target, outcome: Outcome, allowed: Allowed) -> None:
        """What an attempt says about the place. A store that is away is no reason to attempt it again."""
        if not has_breaker(target):
            return
        self._turn(target.target_id, outcome, allowed)
        try:
            match outcome:
                case Succeeded():
                    await self._worked(target.target_id)
                case TransientFailure() | PermanentFailure():
                    await self._failed(target_ref(delivery, target), outcome)
        except Transient as error:
            _log().warning("can't note how a target fares", target_id=target.target_id, reason=str(error))

    async def disable(self, place: TargetRef, reason: str) -> FailingTarget | None:
        """None if it is off already."""
        return await self._switched(await self._store.disable(place, reason, self._clock()))

    async def enable(self, team: str, target_id: str) -> FailingTarget | None:
        """None if it isn't off."""
        return await self._switched(await self._store.enable(team, target_id, self._clock()))

    async def refresh(self) -> None:
        """Take in what the store knows, and finish what a replica that died has left."""
        now = self._clock()
        known = {target.target_id: target for target in await self._store.all()}
        for target_id, before in self._known.items():
            if before.disabled_at is not None and (target_id not in known or known[target_id].disabled_at is None):
                self._circuits.pop(target_id, None)  # somebody enabled it: send there now
        self._known = known
        for target in known.values():
            worked = self._reached.get(target.target_id)
            if worked is not None and target.last_at is not None and target.last_at <= worked:
                await self._store.reached(target.target_id, worked)
            if target.unpublished and now - (target.disabled_at or target.enabled_at or now) > ABOUT_TO_SAY:
                await self._publish(target)
        self._reached = {target_id: at for target_id, at in self._reached.items() if now - at < REMEMBERED}

    def _turn(self, target_id: str, outcome: Outcome, allowed: Allowed) -> None:
        circuit = self._circuits.pop(target_id, Circuit())
        turned = after(circuit, outcome, allowed, now=self._clock(), random=self._random)
        if turned is not None and turned != Circuit():
            self._circuits[target_id] = turned
        if len(self._circuits) > CIRCUITS:
            del self._circuits[next(iter(self._circuits))]

    async def _worked(self, target_id: str) -> None:
        now = self._clock()
        self._reached[target_id] = now
        known = self._known.get(target_id)
        if known is not None and known.disabled_at is None:
            del self._known[target_id]
            await self._store.reached(target_id, now)

    async def _failed(self, place: TargetRef, outcome: TransientFailure | PermanentFailure) -> None:
        now = self._clock()
        self._reached.pop(place.target_id, None)
        target = self._known[place.target_id] = await self._store.failed(place, outcome.error, now)
        reason = reason_to_disable(target, outcome, now=now, patience=self._patience)
        if reason is not None and target.disabled_at is None:
            await self.disable(place, reason)

    async def _switched(self, target: FailingTarget | None) -> FailingTarget | None:
        if target is None:
            return None
        self._known[target.target_id] = target
        self._circuits.pop(target.target_id, None)
        await self._publish(target)
        return target

    async def _publish(self, target: FailingTarget) -> None:
        """What can't be said now is said by a later look at the store."""
        try:
            await self._target_events.publish(target)
            await self._store.mark_published(target)
        except Transient as error:
            _log().warning("can't say that a target was switched", target_id=target.target_id, reason=str(error))


def refreshing(breakers: CircuitBreakers, every: float) -> Callable[[], Awaitable[None]]:
    """The loop that keeps a replica informed. `every`: seconds."""

    async def loop() -> None:
        while True:
            try:
                await breakers.refresh()
            except Transient as error:
                _log().warning("can't look at the targets", reason=str(error))
            await asyncio.sleep(every)

    return loop


def target_ref(delivery: Delivery, target: Target) -> TargetRef:
    return TargetRef(
        target_id=target.target_id,
        team_id=delivery.context.team_id,
        member_id=delivery.context.member_id,
        type=target.type,
        label=target.label,
    )


def _log() -> Any:
    return logger(service="delivery-center")
