"""Workspaces in a dictionary, held to the same tests as the real ones."""

from collections.abc import Callable

from memory.domain import Owner
from memory.workspace import Decide, File, Usage
from rota_contracts.messages.workspace import FileInfo


class InMemoryWorkspaces:
    def __init__(self) -> None:
        self._files: dict[Owner, dict[str, File]] = {}

    async def find(self, owner: Owner, path: str) -> File | None:
        return self._files.get(owner, {}).get(path)

    async def list(self, owner: Owner) -> list[FileInfo]:
        return [file.info() for _, file in sorted(self._files.get(owner, {}).items())]

    async def write(self, owner: Owner, path: str, decide: Decide) -> File:
        file = decide(await self.find(owner, path), self._usage(owner))
        self._files.setdefault(owner, {})[path] = file
        return file

    async def remove(self, owner: Owner, path: str, allow: Callable[[File], None]) -> File | None:
        there = await self.find(owner, path)
        if there is not None:
            allow(there)
            del self._files[owner][path]
        return there

    async def clear(self, owner: Owner, *, up_to_rev: int) -> int:
        known = self._files.get(owner, {})
        ended = [path for path, file in known.items() if file.rev <= up_to_rev]
        return len([known.pop(path) for path in ended])

    def _usage(self, owner: Owner) -> Usage:
        mine = self._files.get(owner, {}).values()
        team = [
            file.size for other, files in self._files.items() if other.team == owner.team for file in files.values()
        ]
        return Usage(files=len(mine), bytes=sum(file.size for file in mine), team_bytes=sum(team))
