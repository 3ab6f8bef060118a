"""Robots' definitions from memory: those in use, kept up to date by the bucket's watch."""

import math

from rota_common.bus.connection import Bus
from rota_common.bus.followed import Followed
from rota_common.bus.robots import Robots
from rota_contracts.robots.robot import Robot

LIMIT = 20_000_000
"""Bytes of a service's definitions in memory: of the three that keep some, 60 MB in one process."""


class KnownRobots(Robots):
    """`known` reads the bucket alone for what isn't in memory; `keep_current` is a loop of the service."""

    def __init__(self, bus: Bus, *, limit: int = LIMIT) -> None:
        super().__init__(bus)
        self._followed = Followed(
            bus,
            Robot.model_validate_json,
            limit=limit,
            find=self.find,
            key_of=lambda head: (head["team_id"], head["member_id"]),
        )

    async def known(self, team: str, member: str, *, rev: int | None = None) -> Robot | None:
        """The robot as the watch has it, at this revision or a later one if there is one; also a deleted one."""
        return await self._followed.known((team, member), rev=rev or 0)

    async def keep_current(self) -> bool:
        """Follow the changes until the connection is interrupted, and then forget all: one may have been lost. Always
        True."""
        await self._followed.keep_current(self.follow(seconds=math.inf, stored=False))
        return True
