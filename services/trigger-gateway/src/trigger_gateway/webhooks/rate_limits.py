"""Rate limits: requests a minute from one address, to one source and with the keys of a team, over all replicas.

The minute is a sliding one: time goes in steps of a few seconds, and what was granted in any step that touches the last
60 seconds counts. A replica reserves requests ahead, the more the busier a key is, so most requests cost no write and
the limit is never exceeded. What is reserved and not used is lost with its step.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rota_common.clock import Clock
from trigger_gateway.problems import TooMany
from trigger_gateway.webhooks.ports import RateStore

MINUTE_S = 60
STEP_S = 5
COUNTED_STEPS = MINUTE_S // STEP_S + 1
"""This step, and those before it that a minute's window touches."""

SHARE = 20
"""A reservation is at most this part of a limit, or more if more requests wait."""

KEPT_KEYS = 10_000


@dataclass(frozen=True)
class RateLimits:
    """Requests a minute; 0: no limit. `per_source` is for sources that have no limit of their own."""

    per_address: int = 3000
    per_source: int = 6000
    per_team: int = 0
    failed_keys: int = 0


def step_of(at: datetime) -> int:
    """The step that this instant is in, counted from 1970."""
    return int(at.timestamp() // STEP_S)


def room_at(taken: Mapping[int, int]) -> int:
    """The step at which the oldest of what is taken counts no more; 0 if nothing is taken."""
    return min(taken) + COUNTED_STEPS if taken else 0


def seconds_until(step: int, now: datetime) -> int:
    """Whole seconds until this step has begun, at least 1."""
    return max(1, math.ceil(step * STEP_S - now.timestamp()))


def portion(limit: int, waiting: int, used: int) -> int:
    """How much to reserve at a time: as much again as this step has used, so that a rare sender loses next to
    nothing."""
    return min(limit, max(min(limit // SHARE, used), waiting, 1))


@dataclass
class _Budget:
    """The requests of one key that this replica may still accept in a step. `room_at`: nothing is left to reserve
    before this step."""

    step: int
    left: int = 0
    used: int = 0
    room_at: int = 0
    waiting: int = 0
    reserving: asyncio.Task[None] | None = None

    async def reserved(self) -> None:
        """Wait for the reservation under way. The cancellation of one request must not end it for the others."""
        assert self.reserving is not None
        self.waiting += 1
        try:
            await asyncio.shield(self.reserving)
        finally:
            self.waiting -= 1


@dataclass(kw_only=True)
class RateLimiter:
    store: RateStore
    clock: Clock
    limits: RateLimits
    _budgets: OrderedDict[str, _Budget] = field(init=False, default_factory=OrderedDict)

    async def by_address(self, address: str) -> None:
        """Count a request. Raise TooMany when the minute's limit is used up, Transient when the store is away."""
        await self._take(f"address {address}", self.limits.per_address, "of your address")

    async def by_sender(self, team: str, source: str, address: str, limit: int) -> None:
        """As `by_address`, for messages to a robot that answers at once."""
        await self._take(f"sender {team} {source} {address}", limit, "of your address to this source")

    async def by_team(self, team: str) -> None:
        """As `by_address`, for requests with a key of the team."""
        await self._take(f"team {team}", self.limits.per_team, "with the keys of this team")

    def check_failed_keys(self, address: str) -> None:
        """Raise TooMany if the address is known here to have tried too many keys; count nothing."""
        self._check(f"failed {address}", self.limits.failed_keys, "with unknown keys of your address")

    async def failed_key(self, address: str) -> None:
        """Count a request with an unknown key."""
        await self._take(f"failed {address}", self.limits.failed_keys, "with unknown keys of your address")

    def check_source(self, team: str, source: str, limit: int | None) -> None:
        """Raise TooMany if the source's limit is known here to be used up; count nothing."""
        self._check(_source_key(team, source), self._of_source(limit), "of this source")

    async def by_source(self, team: str, source: str, limit: int | None) -> None:
        """Count an event that is about to be accepted. `limit` is the source's own, if it has one."""
        await self._take(_source_key(team, source), self._of_source(limit), "of this source")

    def _check(self, key: str, limit: int, whose: str) -> None:
        budget, step = self._budgets.get(key), step_of(self.clock())
        if limit and budget and budget.room_at > step and not (budget.step == step and budget.left):
            raise self._too_many(limit, whose, budget)

    async def _take(self, key: str, limit: int, whose: str) -> None:
        if not limit:
            return
        while True:
            budget = self._budget(key)
            if budget.left:
                budget.left -= 1
                budget.used += 1
                return
            if budget.room_at > budget.step:
                raise self._too_many(limit, whose, budget)
            if budget.reserving is None:
                budget.reserving = asyncio.create_task(self._reserve(budget, key, limit))
            await budget.reserved()

    async def _reserve(self, budget: _Budget, key: str, limit: int) -> None:
        try:
            wanted = portion(limit, budget.waiting, budget.used)
            got = await self.store.reserve(key, budget.step, wanted, limit)
            budget.left = got.granted
            budget.room_at = max(got.room_at, budget.step + 1) if got.granted < wanted else 0
        finally:
            budget.reserving = None

    def _budget(self, key: str) -> _Budget:
        """Of this step. What is known to be used up stays so until there is room."""
        step, budget = step_of(self.clock()), self._budgets.get(key)
        if budget is None or budget.step != step:
            budget = self._budgets[key] = _Budget(step, room_at=budget.room_at if budget else 0)
        self._budgets.move_to_end(key)
        if len(self._budgets) > KEPT_KEYS:
            self._budgets.popitem(last=False)
        return budget

    def _of_source(self, limit: int | None) -> int:
        return self.limits.per_source if limit is None else limit

    def _too_many(self, limit: int, whose: str, budget: _Budget) -> TooMany:
        after = seconds_until(budget.room_at, self.clock())
        text = f"expected at most {limit} requests a minute {whose}: try again in {after} s"
        return TooMany("rate_limited", text, after=after)


def _source_key(team: str, source: str) -> str:
    return f"source {team} {source}"
