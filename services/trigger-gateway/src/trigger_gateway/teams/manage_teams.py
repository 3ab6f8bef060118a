"""Teams and their API keys."""

from collections.abc import Callable
from dataclasses import dataclass

from rota_common.clock import Clock
from rota_contracts.roles import Role
from trigger_gateway.problems import Conflict, NotFound
from trigger_gateway.teams.api_keys import ApiKey, Holder, NewKey, Token, make_key
from trigger_gateway.teams.authenticate import Caller
from trigger_gateway.teams.ports import Keys, Removal, Team, Teams


@dataclass(frozen=True, kw_only=True)
class ManageTeams:
    teams: Teams
    keys: Keys
    clock: Clock
    new_id: Callable[[], str]
    new_secret: Token

    async def create(self, team: str | None, name: str) -> NewKey:
        """A team and its first key, an owner's; raises Conflict if there is one of this name, or was until lately."""
        team = team or f"team_{self._short_id()}"
        if not await self.teams.add(team, name):
            if removed := await self.teams.removed(team):
                raise Conflict(
                    "team_removed",
                    f"a team {team} was removed at {removed.removed_at.isoformat(timespec='seconds')}: its name is "
                    f"free from {removed.name_free_at.isoformat(timespec='seconds')} on, choose another one until then",
                )
            raise Conflict(
                "team_exists", f"there is a team {team} already: make a key for it with POST /v1/teams/{team}/keys"
            )
        return await self._add_key(team, Role.OWNER, "")

    async def page(self, *, after: str, limit: int) -> tuple[list[Team], str | None]:
        """Teams by id, and where the next page begins; None behind the last one."""
        found = await self.teams.page(after=after, limit=limit + 1)
        return found[:limit], found[limit - 1].id if len(found) > limit else None

    async def add_key(self, team: str, role: Role, name: str, *, by: Caller, holder: Holder | None = None) -> NewKey:
        """`holder`: the person that it is for. Raise Forbidden for a role above the caller's own."""
        by.check(role, f"making a key of the role {role}")
        return await self._add_key(team, role, name, holder)

    async def list_keys(self, team: str) -> list[ApiKey]:
        return await self.keys.of_team(team)

    async def remove_key(self, team: str, key_id: str) -> None:
        """Raise NotFound if there is no such key, Conflict for the last one of an owner."""
        match await self.keys.remove(team, key_id):
            case Removal.UNKNOWN:
                raise NotFound("key_not_found", f"team {team} has no key {key_id}")
            case Removal.LAST_OWNER:
                text = f"{key_id} is the last key of an owner of team {team}: make another one of the role owner first"
                raise Conflict("last_owner", text)
            case Removal.DONE:
                return

    async def _add_key(self, team: str, role: Role, name: str, holder: Holder | None = None) -> NewKey:
        secret, at = self.new_secret(), self.clock()
        new = make_key(team, key_id=self._short_id(), secret=secret, at=at, role=role, name=name, holder=holder)
        await self.keys.add(new.key)
        return new

    def _short_id(self) -> str:
        return self.new_id().replace("-", "")[:12]
