"""The records of attachments in memory, held to the same conformance cases as those in MongoDB."""

from datetime import datetime

from rota_common.page_cursor import PageCursor
from trigger_gateway.teams.shares import Allow, Usage


class InMemoryAttachmentRecords:
    def __init__(self) -> None:
        self._files: dict[str, tuple[str, int, datetime]] = {}

    async def reserve(
        self, team: str, file_id: str, size: int, *, now: datetime, until: datetime, allow: Allow
    ) -> None:
        others = [each for name, each in self._files.items() if name != file_id]
        mine = [kept for whose, kept, end in others if whose == team and end > now]
        allow(Usage(len(mine) + 1, sum(mine) + size))
        self._files[file_id] = team, size, until

    async def settle(self, file_id: str, size: int, *, until: datetime) -> None:
        if file_id in self._files:
            self._files[file_id] = self._files[file_id][0], size, until

    async def release(self, file_id: str) -> None:
        self._files.pop(file_id, None)

    async def page(self, team: str, *, now: datetime, after: PageCursor | None, limit: int) -> list[PageCursor]:
        mine = [PageCursor(until, name) for name, (whose, _, until) in self._files.items() if whose == team]
        there = sorted((one for one in mine if one.at > now and (after is None or one < after)), reverse=True)
        return there[:limit]

    async def of_team(self, team: str, *, limit: int) -> list[str]:
        return [file_id for file_id, (whose, _, _) in self._files.items() if whose == team][:limit]
