"""Authentication: the caller is the administrator, or a team by one of its keys, with the role of that key."""

from dataclasses import dataclass

from rota_contracts.roles import Role
from trigger_gateway.problems import Forbidden, NotFound, Unauthenticated
from trigger_gateway.teams.api_keys import Holder, key_matches, parse_key, secret_matches
from trigger_gateway.teams.ports import Keys, Teams


@dataclass(frozen=True)
class Caller:
    """`team` is None for the administrator, who may do everything for every team. `name` is the key's; `holder` the
    person that it was made for."""

    team: str | None
    role: Role = Role.OWNER
    name: str = ""
    key_id: str = ""
    holder: Holder | None = None

    def check(self, needed: Role, what: str = "this") -> None:
        """Raise Forbidden unless the caller's role is `needed` or above. `what` names the action in the message."""
        if not self.role.covers(needed):
            text = f"{what} needs a key of the role {needed} or above: this key has the role {self.role}"
            raise Forbidden("role_too_low", text)


@dataclass(frozen=True, kw_only=True)
class Authenticate:
    teams: Teams
    keys: Keys
    admin_key: str | None

    async def caller(self, bearer: str | None) -> Caller:
        """Raise Unauthenticated for a missing or unknown key."""
        if not bearer:
            raise Unauthenticated("unauthenticated", "expected the header Authorization: Bearer <key>")
        if self.admin_key is not None and secret_matches(bearer, self.admin_key):
            return Caller(None)
        presented = parse_key(bearer)
        key = await self.keys.find(presented.key_id) if presented else None
        if presented is None or key is None or not key_matches(presented, key):
            raise Unauthenticated("unauthenticated", "this key is unknown: it never existed, or it was deleted")
        return Caller(key.team, key.role, key.name, key.key_id, key.holder)

    async def still(self, caller: Caller) -> bool:
        """False once the caller's key was deleted."""
        return caller.team is None or await self.keys.find(caller.key_id) is not None

    async def admin(self, bearer: str | None) -> Caller:
        """Raise unless it is the administrator."""
        if self.admin_key is None:
            text = "the administrator's routes are closed: set ROTA_ADMIN_KEY for the gateway"
            raise Forbidden("admin_key_not_set", text)
        caller = await self.caller(bearer)
        if caller.team is not None:
            raise Forbidden("forbidden", "expected the administrator's key: this one is a team's")
        return caller

    async def for_team(self, bearer: str | None, team: str, needed: Role) -> Caller:
        """Raise unless the caller may act for this team, and in this role."""
        caller = await self.caller(bearer)
        if caller.team is not None and caller.team != team:
            raise Forbidden("foreign_team", "this key belongs to another team")
        if caller.team is None and not await self.teams.exists(team):
            raise NotFound("team_not_found", f"there is no team {team}: it was never made, or it was removed")
        caller.check(needed)
        return caller
