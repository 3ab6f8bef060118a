"""Members who are people in memory, held to the same tests as the real ones."""

from trigger_gateway.members.member import Member
from trigger_gateway.teams.shares import Allow, Usage, allow_all


class InMemoryMembers:
    def __init__(self) -> None:
        self._members: dict[tuple[str, str], Member] = {}

    async def add(self, member: Member, *, allow: Allow = allow_all) -> bool:
        if _key(member) in self._members:
            return False
        allow(Usage(1 + sum(team == member.team for team, _ in self._members)))
        self._members[_key(member)] = member
        return True

    async def find(self, team: str, member_id: str) -> Member | None:
        return self._members.get((team, member_id))

    async def page(self, team: str, *, after: str, limit: int) -> list[Member]:
        mine = sorted(name for owner, name in self._members if owner == team and name > after)
        return [self._members[team, name] for name in mine[:limit]]

    async def replace(self, member: Member, *, expected: Member) -> bool:
        if self._members.get(_key(member)) != expected:
            return False
        self._members[_key(member)] = member
        return True

    async def remove(self, member: Member) -> bool:
        if self._members.get(_key(member)) != member:
            return False
        del self._members[_key(member)]
        return True


def _key(member: Member) -> tuple[str, str]:
    return member.team, member.definition.member_id
