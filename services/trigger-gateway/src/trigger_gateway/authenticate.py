"""Decides who asks: the administrator, or a team by one of its keys; and whose things that one may touch (TG-23)."""

from dataclasses import dataclass

from trigger_gateway.api_keys import is_the_key, is_the_secret, parse_key
from trigger_gateway.ports import Keys, Teams
from trigger_gateway.problems import Forbidden, NotFound, Unauthenticated


@dataclass(frozen=True)
class Caller:
    """`team` is None for the administrator, who may act for every team."""

    team: str | None


class Authenticate:
    def __init__(self, teams: Teams, keys: Keys, *, admin_key: str | None) -> None:
        self._teams, self._keys, self._admin_key = teams, keys, admin_key

    async def caller(self, bearer: str | None) -> Caller:
        """Raise Unauthenticated for a missing or unknown key."""
        if not bearer:
            raise Unauthenticated("unauthenticated", "expected the header Authorization: Bearer <key>")
        if self._admin_key is not None and is_the_secret(bearer, self._admin_key):
            return Caller(None)
        presented = parse_key(bearer)
        key = await self._keys.find(presented.key_id) if presented else None
        if presented is None or key is None or not is_the_key(presented, key):
            raise Unauthenticated("unauthenticated", "this key is not known: it was never made, or it was deleted")
        return Caller(key.team)

    async def admin(self, bearer: str | None) -> None:
        """Raise unless it is the administrator."""
        if self._admin_key is None:
            raise Forbidden("admin_key_not_set", "set ROTA_ADMIN_KEY for the gateway to use the administrator's routes")
        if (await self.caller(bearer)).team is not None:
            raise Forbidden("forbidden", "expected the administrator's key: this one is a team's")

    async def for_team(self, bearer: str | None, team: str) -> None:
        """Raise unless the caller may act for this team."""
        caller = await self.caller(bearer)
        if caller.team is not None and caller.team != team:
            raise Forbidden("foreign_team", "this key belongs to another team")
        if caller.team is None and not await self._teams.exists(team):
            raise NotFound("team_not_found", f"there is no team {team}")
