"""Budgets in memory, for tests; and prices, as connectors name them."""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from executor.agents.connectors import Connector
from executor.agents.prices import Price
from executor.domain.spending import Limit
from executor.spending.budget_port import Amount, NoRoom
from rota_common.clock import Clock, now

MOST = 2**62


@dataclass
class Counter:
    day: date
    tokens: int = 0
    money: int = 0
    open: dict[str, datetime] = field(default_factory=dict)


class InMemoryBudget:
    """`clock` is the store's own, as a database has one."""

    def __init__(self, *, clock: Clock = now) -> None:
        self._counters: dict[str, Counter] = {}
        self.clock = clock

    async def reserve(self, limit: Limit, amount: Amount, *, reservation: str, hold: timedelta) -> NoRoom | None:
        counter, left = self._counter(limit), await self.room(limit)
        if amount.tokens > left.tokens or amount.money > left.money:
            return NoRoom(open=any(until > self.clock() for until in counter.open.values()))
        counter.tokens, counter.money = counter.tokens + amount.tokens, counter.money + amount.money
        counter.open[reservation] = self.clock() + hold
        return None

    async def settle(self, limit: Limit, reserved: Amount, taken: Amount, *, reservation: str) -> None:
        counter = self._counter(limit)
        if counter.open.pop(reservation, None) is not None:
            counter.tokens += taken.tokens - reserved.tokens
            counter.money += taken.money - reserved.money

    async def room(self, limit: Limit) -> Amount:
        counter = self._counter(limit)
        return Amount(
            MOST if limit.tokens is None else limit.tokens - counter.tokens,
            MOST if limit.money is None else limit.money - counter.money,
        )

    def _counter(self, limit: Limit) -> Counter:
        today, known = self.clock().date(), self._counters.get(limit.key)
        if known is None or (limit.daily and known.day != today):
            known = self._counters[limit.key] = Counter(today)
        return known


class ConnectorPrices:
    async def of(self, connector: Connector) -> Price | None:
        return connector.price
