"""Secrets of teams for tests: known values, for every team or for some."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from rota_common.team_secrets import CachedSecrets


class ForEveryTeam(Mapping[str, Mapping[str, str]]):
    """The same secrets for every team, whatever it is called."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._secrets = secrets

    def __getitem__(self, team: str) -> Mapping[str, str]:
        return self._secrets

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class InMemoryTeamSecrets:
    """`by_team`: team → name → value; `away`, where it is set, is raised instead."""

    def __init__(self, by_team: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._by_team = {} if by_team is None else by_team
        self.away: Exception | None = None
        self._seen = dict[str, list[str]]()

    async def resolve(self, team: str, texts: Iterable[str]) -> Mapping[str, str]:
        found = await CachedSecrets(self._read).resolve(team, texts)
        self._seen.setdefault(team, []).extend(found.values())
        return found

    def known(self, team: str) -> Collection[str]:
        return self._seen.get(team, ())

    async def _read(self, team: str, names: Collection[str]) -> Mapping[str, str]:
        if self.away is not None:
            raise self.away
        known = self._by_team.get(team) or {}
        return {name: known[name] for name in names if name in known}


def secrets_folder(folder: Path, team: str, **secrets: str) -> dict[str, str]:
    """The setting of a gateway whose operator gives the team these secrets, as files."""
    for name, value in secrets.items():
        file = folder / "secrets" / team / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value)
    return {"ROTA_SECRETS_DIR": str(folder / "secrets")}
