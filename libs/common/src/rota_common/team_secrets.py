"""Secrets of teams: a reference in what a team writes stands for a secret of that team, and for nothing else."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Protocol

from rota_common.bus.rpc import Ask
from rota_contracts.catalog import READ_SECRETS
from rota_contracts.messages.secrets import SECRETS_LIMIT, ReadSecrets
from rota_contracts.secret_refs import is_reference, secret_name

KEPT_S = 60.0
"""How long a value that was read is used: as long may a changed or removed secret still work."""

KEPT = 2048
"""Values kept at a time."""

KNOWN, TEAMS = 100, 200
"""Values of a team that are known, and teams."""

Reader = Callable[[str, Collection[str]], Awaitable[Mapping[str, str]]]
"""Team and names → the values of those that there are; raises Transient while they can't be read."""


class MissingTeamSecret(ValueError):
    """The team has no such secret. Names the reference and what to do, never a value."""


class TeamSecrets(Protocol):
    async def resolve(self, team: str, texts: Iterable[str]) -> Mapping[str, str]:
        """The references among `texts`, each with its value.

        Raise MissingTeamSecret for one that the team doesn't have, Transient while they can't be read.
        """
        ...

    def known(self, team: str) -> Collection[str]:
        """The values of the team that were read here: they are hidden wherever they appear."""
        ...


class CachedSecrets:
    """What `read` finds, kept for a minute. What is missing is asked for again each time.

    What was read once stays known, the newest `KNOWN` values of each of the last `TEAMS` teams: an open connection may
    use a value for longer than a minute.
    """

    def __init__(self, read: Reader, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._read, self._monotonic = read, monotonic
        self._kept: OrderedDict[tuple[str, str], tuple[float, str]] = OrderedDict()
        self._known: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    async def resolve(self, team: str, texts: Iterable[str]) -> Mapping[str, str]:
        names = {text: _name(text, team) for text in texts if is_reference(text)}
        values = await self._values(team, set(names.values()))
        for reference, name in names.items():
            if not values.get(name):
                raise _missing(name, reference, team)
        return {reference: values[name] for reference, name in names.items()}

    def forget(self, team: str, name: str) -> None:
        self._kept.pop((team, name), None)

    def known(self, team: str) -> Collection[str]:
        return (*self._known.get(team, ()),)

    def _remember(self, team: str, value: str) -> None:
        values = self._known.setdefault(team, OrderedDict())
        values[value] = None
        values.move_to_end(value)
        self._known.move_to_end(team)
        while len(values) > KNOWN:
            values.popitem(last=False)
        while len(self._known) > TEAMS:
            self._known.popitem(last=False)

    async def _values(self, team: str, names: Collection[str]) -> Mapping[str, str]:
        now = self._monotonic()
        known = {name: kept[1] for name in names if (kept := self._kept.get((team, name))) and kept[0] > now}
        wanted = sorted(set(names) - known.keys())
        for start in range(0, len(wanted), SECRETS_LIMIT):
            for name, value in (await self._read(team, wanted[start : start + SECRETS_LIMIT])).items():
                known[name] = value
                self._remember(team, value)
                self._kept[team, name] = now + KEPT_S, value
                self._kept.move_to_end((team, name))
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return known


def asked_of_the_gateway(ask: Ask) -> TeamSecrets:
    """Secrets over the bus: NoReply, a Transient, while no gateway answers."""

    async def read(team: str, names: Collection[str]) -> Mapping[str, str]:
        reply = await ask(READ_SECRETS, ReadSecrets(team_id=team, names=list(names)))
        return {secret.name: secret.value for secret in reply.secrets}

    return CachedSecrets(read)


def _name(reference: str, team: str) -> str:
    name = secret_name(reference)
    if name is None:
        raise MissingTeamSecret(
            f"expected a reference like $SECRET.CRM_TOKEN to a secret of team {team}, not {reference}: "
            "a name has letters, digits and _ only"
        )
    return name


def _missing(name: str, reference: str, team: str) -> MissingTeamSecret:
    return MissingTeamSecret(
        f"expected the secret {name} of team {team} (referred to as {reference}): it is not set; "
        f"set it with `rota secrets set {name}`"
    )
