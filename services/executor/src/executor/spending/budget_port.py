"""The port to budgets: counters of what calls of models have taken, each kept below its ceiling."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from executor.agents.connectors import Connector
from executor.agents.prices import Price
from executor.domain.run import Need
from executor.domain.spending import Limit


@dataclass(frozen=True)
class Amount:
    """`money` in billionths."""

    tokens: int = 0
    money: int = 0


@dataclass(frozen=True)
class NoRoom:
    """`open`: other calls hold room that they may give back soon."""

    open: bool


class Budget(Protocol):
    """What is reserved counts as spent until it is settled, and for ever if it never is."""

    async def reserve(self, limit: Limit, amount: Amount, *, reservation: str, hold: timedelta) -> NoRoom | None:
        """Add `amount` to the counter if it stays within the limit, at once. `hold`: how long the call may take."""
        ...

    async def settle(self, limit: Limit, reserved: Amount, taken: Amount, *, reservation: str) -> None:
        """Replace what was reserved by what was taken. A second time, or on another day, it changes nothing."""
        ...

    async def room(self, limit: Limit) -> Amount:
        """What is left; very much where there is no ceiling."""
        ...


class Prices(Protocol):
    async def of(self, connector: Connector) -> Price | None:
        """None if no price is known that is right for it."""
        ...


class AtCeiling(Exception):
    """A call that wasn't made, because what it needs has no room below a ceiling. The text is for a person: `no_room`,
    and what to do about it in a run."""

    def __init__(self, no_room: str, need: Need) -> None:
        super().__init__(f"{no_room} Raise the ceiling, or stop the run; it goes on by itself once there is room.")
        self.no_room = no_room
        self.need = need
