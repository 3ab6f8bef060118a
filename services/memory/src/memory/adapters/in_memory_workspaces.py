"""Workspaces in a dictionary, held to the same tests as the real ones."""

from collections.abc import Callable, Collection, Sequence

from memory.domain import Owner
from memory.workspace import Decide, File, Seed, Usage
from rota_contracts.messages.workspace import FileInfo


class InMemoryWorkspaces:
    def __init__(self) -> None:
        self._files: dict[Owner, dict[str, File]] = {}
        self._seeded: set[Owner] = set()

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

    async def seed(self, owner: Owner, decide: Seed) -> Sequence[File]:
        if owner not in self._seeded:
            known = self._files.get(owner, {})
            new = decide(known, self._usage(owner))
            self._files[owner] = {**known, **{file.path: file for file in new}}
            self._seeded.add(owner)
        return [file for _, file in sorted(self._files.get(owner, {}).items())]

    async def forget_person(self, team: str, person: str) -> int:
        return self._forget([one for one in self._people(team) if one.member == person])

    async def forget_agents(self, team: str, agents: Sequence[str]) -> int:
        return self._forget([one for one in self._people(team) if one.agent in agents])

    def _people(self, team: str) -> set[Owner]:
        return {one for one in (*self._files, *self._seeded) if one.team == team and one.agent}

    def _forget(self, owners: Collection[Owner]) -> int:
        self._seeded -= {*owners}
        return sum(len(self._files.pop(owner, {})) for owner in owners)

    def _usage(self, owner: Owner) -> Usage:
        """A person's files for all agents count together."""
        mine = [
            file
            for other, files in self._files.items()
            if (other.team, other.member, bool(other.agent)) == (owner.team, owner.member, bool(owner.agent))
            for file in files.values()
        ]
        team = [
            file.size for other, files in self._files.items() if other.team == owner.team for file in files.values()
        ]
        return Usage(files=len(mine), bytes=sum(file.size for file in mine), team_bytes=sum(team))
