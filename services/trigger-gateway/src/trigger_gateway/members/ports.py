"""The port of members."""

from typing import Protocol

from trigger_gateway.members.member import Member
from trigger_gateway.teams.shares import Allow, allow_all


class Members(Protocol):
    """The people of all teams."""

    async def add(self, member: Member, *, allow: Allow = allow_all) -> bool:
        """False if the team has a member of this id already. `allow` judges how many the team then has."""
        ...

    async def find(self, team: str, member_id: str) -> Member | None: ...

    async def page(self, team: str, *, after: str, limit: int) -> list[Member]:
        """By id, from behind `after`."""
        ...

    async def replace(self, member: Member, *, expected: Member) -> bool:
        """False if it was changed or removed since `expected` was read."""
        ...

    async def remove(self, member: Member) -> bool:
        """False as for `replace`."""
        ...
