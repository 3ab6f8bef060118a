"""A team's people: its admins add, change and remove them; none gives or takes a role above their own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rota_common.clock import Clock
from rota_contracts.model import ALL
from trigger_gateway.members.end_files import EndFiles
from trigger_gateway.members.member import Member, member_definition
from trigger_gateway.members.ports import Members
from trigger_gateway.problems import Conflict, NotFound
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.teams.authenticate import Caller
from trigger_gateway.teams.shares import Allow, allow_all

TRIES = 5


@dataclass(frozen=True, kw_only=True)
class ManageMembers:
    members: Members
    robots: RobotRecords
    clock: Clock
    end_files: EndFiles
    allow: Allow = allow_all

    async def create(self, team: str, raw: Mapping[str, Any], *, by: Caller) -> Member:
        """Raise Invalid for a wrong definition, Conflict if a person or a robot has this id, Forbidden for a role above
        the caller's own."""
        member = Member(team, member_definition(raw), self.clock())
        name = member.definition.member_id
        by.check(member.definition.role, f"adding a member of the role {member.definition.role}")
        if name == ALL:
            raise Conflict("member_exists", f"expected another member_id than {ALL}, which stands for all members")
        robot = await self.robots.find(team, name)
        if robot is not None and not robot.robot.deleted:
            raise Conflict("member_exists", f"team {team} has a robot {name}: a member needs an id of its own")
        if not await self.members.add(member, allow=self.allow):
            raise Conflict("member_exists", f"team {team} has a member {name} already: change it with PUT")
        return member

    async def change(self, team: str, name: str, raw: Mapping[str, Any], *, by: Caller) -> Member:
        """A new definition in place of the old one. A change that changes nothing makes no new `rev`."""
        wanted = member_definition(raw, of=name)
        by.check(wanted.role, f"giving a member the role {wanted.role}")
        for _ in range(TRIES):
            before = await self.read(team, name)
            by.check(before.definition.role, f"changing a member of the role {before.definition.role}")
            if before.definition == wanted:
                return before
            after = replace(before, definition=wanted, rev=before.rev + 1)
            if await self.members.replace(after, expected=before):
                return after
        raise _contended(name)

    async def remove(self, team: str, name: str, *, by: Caller) -> None:
        """Remove the person, and the files that they have with agents."""
        for _ in range(TRIES):
            found = await self.read(team, name)
            by.check(found.definition.role, f"deleting a member of the role {found.definition.role}")
            async with self.end_files(team, person=name):
                removed = await self.members.remove(found)
            if removed:
                return
        raise _contended(name)

    async def read(self, team: str, name: str) -> Member:
        found = await self.members.find(team, name)
        if found is None:
            raise NotFound("member_not_found", f"team {team} has no member {name} who is a person")
        return found

    async def page(self, team: str, *, after: str, limit: int) -> list[Member]:
        return await self.members.page(team, after=after, limit=limit)


def _contended(name: str) -> Conflict:
    return Conflict("changed_meanwhile", f"member {name} is being changed by others at the same moment: try again")
