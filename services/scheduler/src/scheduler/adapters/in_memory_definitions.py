"""Robots' definitions in memory."""

import asyncio
from collections.abc import AsyncGenerator

from rota_contracts.robots.robot import Robot
from scheduler.domain.robot_summary import Key


class InMemoryDefinitions:
    """Stores JSON, also that of an invalid definition."""

    def __init__(self) -> None:
        self._texts: dict[Key, bytes] = {}
        self._followers: set[asyncio.Queue[bytes]] = set()

    def put(self, robot: Robot) -> None:
        self.put_text((robot.team_id, robot.member_id), robot.model_dump_json().encode())

    def put_text(self, key: Key, text: bytes) -> None:
        self._texts[key] = text
        for follower in self._followers:
            follower.put_nowait(text)

    async def find(self, team: str, member: str) -> Robot | None:
        text = self._texts.get((team, member))
        return None if text is None else Robot.model_validate_json(text)

    async def follow(self, *, seconds: float) -> AsyncGenerator[bytes | None]:
        changes = asyncio.Queue[bytes]()
        self._followers.add(changes)
        try:
            for text in list(self._texts.values()):
                yield text
            yield None
            while True:
                yield await changes.get()
        finally:
            self._followers.discard(changes)
