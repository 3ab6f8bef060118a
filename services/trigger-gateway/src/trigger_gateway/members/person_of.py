"""The person in whose name a request is made: that of its key, who is still a member."""

from dataclasses import dataclass

from rota_contracts.roles import Role
from trigger_gateway.members.ports import Members
from trigger_gateway.problems import Forbidden, Invalid, NotFound
from trigger_gateway.teams.authenticate import Caller


@dataclass(frozen=True, kw_only=True)
class PersonOf:
    members: Members

    async def __call__(self, team: str, caller: Caller) -> str | None:
        """None for a key that was made for no one. Raise Forbidden where its person is removed, also if there is
        another one of this name since."""
        if caller.holder is None:
            return None
        name, since = caller.holder.member_id, caller.holder.since
        found = await self.members.find(team, name)
        if found is None or found.created_at != since:
            text = f"this key was made for {name}, who is no member of team {team} any more: an owner makes another key"
            raise Forbidden("person_removed", text)
        return name

    async def whose(self, team: str, caller: Caller, named: str | None) -> str:
        """The person whose files the caller may read and write: the own ones, an admin also those of the `named` one.
        Raise Forbidden, Invalid where an admin names no one, or NotFound if there is no such person."""
        own = await self(team, caller)
        if named is None:
            if own is not None:
                return own
            if caller.role.covers(Role.ADMIN):
                raise Invalid("no_person", "expected ?member=, the person: this key was made for no one")
            text = "this key was made for no one: `rota keys create --member ID` makes one for a person"
            raise Forbidden("no_person", text)
        if named != own:
            caller.check(Role.ADMIN, f"the files of {named}")
        if await self.members.find(team, named) is None:
            raise NotFound("member_not_found", f"team {team} has no member {named} who is a person")
        return named
