"""Teams, their API keys and their sources of events."""

from collections.abc import Callable

from rota_common.clock import Clock
from trigger_gateway.api_keys import ApiKey, NewKey, Token, make_key
from trigger_gateway.authenticate import Caller
from trigger_gateway.domain import Source
from trigger_gateway.ports import Keys, Removal, Sources, Teams
from trigger_gateway.problems import Conflict, FieldProblem, Invalid, NotFound, no_source
from trigger_gateway.roles import Role
from trigger_gateway.routes import Routes


class ManageTeams:
    def __init__(self, teams: Teams, keys: Keys, clock: Clock, new_id: Callable[[], str], new_secret: Token) -> None:
        self._teams, self._keys, self._clock = teams, keys, clock
        self._new_id, self._new_secret = new_id, new_secret

    async def create(self, team: str | None, name: str) -> NewKey:
        """A team and its first key, an owner's; raises Conflict if there is one of this name."""
        team = team or f"team_{self._short_id()}"
        if not await self._teams.add(team, name):
            raise Conflict(
                "team_exists", f"there is a team {team} already: make a key for it with POST /v1/teams/{team}/keys"
            )
        return await self._add_key(team, Role.OWNER, "")

    async def add_key(self, team: str, role: Role, name: str, *, by: Caller) -> NewKey:
        """Raise Forbidden for a role above the caller's own."""
        by.check(role, f"making a key of the role {role}")
        return await self._add_key(team, role, name)

    async def list_keys(self, team: str) -> list[ApiKey]:
        return await self._keys.of_team(team)

    async def remove_key(self, team: str, key_id: str) -> None:
        """Raise NotFound if there is no such key, Conflict for the last one of an owner."""
        match await self._keys.remove(team, key_id):
            case Removal.UNKNOWN:
                raise NotFound("key_not_found", f"team {team} has no key {key_id}")
            case Removal.LAST_OWNER:
                text = f"{key_id} is the last key of an owner of team {team}: make another one of the role owner first"
                raise Conflict("last_owner", text)
            case Removal.DONE:
                return

    async def _add_key(self, team: str, role: Role, name: str) -> NewKey:
        secret, at = self._new_secret(), self._clock()
        new = make_key(team, key_id=self._short_id(), secret=secret, at=at, role=role, name=name)
        await self._keys.add(new.key)
        return new

    def _short_id(self) -> str:
        return self._new_id().replace("-", "")[:12]


class ManageSources:
    """`forbidden` are the environment variables no source may refer to: Rota's own."""

    def __init__(self, sources: Sources, routes: Routes, clock: Clock, *, forbidden: frozenset[str]) -> None:
        self._sources, self._routes, self._clock, self._forbidden = sources, routes, clock, forbidden

    async def add(self, team: str, name: str, secret: str, event_type_field: str | None) -> Source:
        if secret.removeprefix("$ENV.") in self._forbidden:
            message = "expected a variable of your own: this one holds a setting of Rota"
            raise Invalid("invalid_source", "the source is not valid", [FieldProblem("secret", message)])
        source = Source(team, name, secret, self._clock(), event_type_field)
        if not await self._sources.add(source):
            raise Conflict("source_exists", f"team {team} has a source {name} already: delete it first")
        self._routes.forget(team)
        return source

    async def list(self, team: str) -> list[Source]:
        return await self._sources.of_team(team)

    async def read(self, team: str, name: str) -> Source:
        source = await self._sources.find(team, name)
        if source is None:
            raise no_source(team, name)
        return source

    async def remove(self, team: str, name: str) -> None:
        removed = await self._sources.remove(team, name)
        self._routes.forget(team)
        if not removed:
            raise no_source(team, name)
