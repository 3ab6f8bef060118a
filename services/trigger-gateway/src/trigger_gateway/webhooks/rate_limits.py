"""Rate limits: requests a minute from one address and to one source, over all replicas.

A replica reserves a share of a minute's limit at a time, so most requests cost no write and the limit is never
exceeded. A reserved share that isn't used is lost with the minute.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime

from rota_common.clock import Clock
from trigger_gateway.problems import TooMany
from trigger_gateway.webhooks.ports import RateStore

MINUTE_S = 60
SHARE = 20
"""A reservation is this part of a limit, or more if more requests wait."""

KEPT_KEYS = 10_000


@dataclass(frozen=True)
class RateLimits:
    """Requests a minute; 0: no limit. `per_source` is for sources that have no limit of their own."""

    per_address: int = 3000
    per_source: int = 6000


def window_of(at: datetime) -> int:
    """The minute that this instant is in, counted from 1970."""
    return int(at.timestamp() // MINUTE_S)


def seconds_left(at: datetime) -> int:
    """Whole seconds until the next minute has begun, at least 1."""
    return MINUTE_S - int(at.timestamp() % MINUTE_S)


def portion(limit: int, waiting: int) -> int:
    """How much to reserve at a time."""
    return min(limit, max(limit // SHARE, waiting, 1))


@dataclass
class _Budget:
    """The requests of one key that this replica may still accept in a minute. `spent`: nothing is left to reserve."""

    window: int
    left: int = 0
    spent: bool = False
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

    def check_source(self, team: str, source: str, limit: int | None) -> None:
        """Raise TooMany if the source's limit is known here to be used up; count nothing."""
        budget, most = self._budgets.get(_source_key(team, source)), self._of_source(limit)
        if most and budget and budget.window == window_of(self.clock()) and budget.spent and not budget.left:
            raise self._too_many(most, "of this source")

    async def by_source(self, team: str, source: str, limit: int | None) -> None:
        """Count an event that is about to be accepted. `limit` is the source's own, if it has one."""
        await self._take(_source_key(team, source), self._of_source(limit), "of this source")

    async def _take(self, key: str, limit: int, whose: str) -> None:
        if not limit:
            return
        while True:
            budget = self._budget(key)
            if budget.left:
                budget.left -= 1
                return
            if budget.spent:
                raise self._too_many(limit, whose)
            if budget.reserving is None:
                budget.reserving = asyncio.create_task(self._reserve(budget, key, limit))
            await budget.reserved()

    async def _reserve(self, budget: _Budget, key: str, limit: int) -> None:
        try:
            wanted = portion(limit, budget.waiting)
            got = await self.store.reserve(key, budget.window, wanted, limit)
            budget.left, budget.spent = got, got < wanted
        finally:
            budget.reserving = None

    def _budget(self, key: str) -> _Budget:
        window, budget = window_of(self.clock()), self._budgets.get(key)
        if budget is None or budget.window != window:
            budget = self._budgets[key] = _Budget(window)
        self._budgets.move_to_end(key)
        if len(self._budgets) > KEPT_KEYS:
            self._budgets.popitem(last=False)
        return budget

    def _of_source(self, limit: int | None) -> int:
        return self.limits.per_source if limit is None else limit

    def _too_many(self, limit: int, whose: str) -> TooMany:
        after = seconds_left(self.clock())
        text = f"expected at most {limit} requests a minute {whose}: try again in {after} s"
        return TooMany("rate_limited", text, after=after)


def _source_key(team: str, source: str) -> str:
    return f"source {team} {source}"
