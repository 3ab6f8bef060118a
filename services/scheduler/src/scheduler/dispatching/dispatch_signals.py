"""The signals between the dispatcher and the rest of its replica."""

import asyncio
from dataclasses import dataclass, field

from rota_common.bus.gate import Gate


@dataclass(kw_only=True)
class DispatchSignals:
    """`has_lease` is set while this replica dispatches: only then do its consumers take messages. `work` is set when
    the next turn should begin; `check_all`, when that turn also checks the database for due and cancelled triggers."""

    has_lease: Gate = field(default_factory=Gate)
    work: asyncio.Event = field(default_factory=asyncio.Event)
    check_all: bool = False

    def wake(self) -> None:
        """Something is due, is to be cancelled, or can begin: the next turn is now."""
        self.check_all = True
        self.work.set()
