"""Secrets that the operator gives teams: files `<folder>/<team>/<NAME>`, or values given to this process."""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path

from rota_common.errors import Transient
from rota_contracts.messages.secrets import VALUE_LIMIT
from rota_contracts.secret_refs import secret_name

NAMES_SHOWN = 1000


class OperatorFiles:
    """`folder` may be mounted (a Kubernetes Secret for each team) and may change at any time; a line break at the end
    of a file isn't part of its value. Values in `given`, by team, go first."""

    def __init__(self, folder: Path | None, given: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._folder, self._given = folder, {} if given is None else given

    async def read(self, team: str, names: Collection[str]) -> Mapping[str, str]:
        given = self._given.get(team) or {}
        found = {name: given[name] for name in names if given.get(name)}
        rest = [name for name in names if name not in found]
        if self._folder is None or not rest:
            return found
        return found | await asyncio.to_thread(self._read, self._folder / team, rest)

    async def names(self, team: str) -> list[str]:
        files = [] if self._folder is None else await asyncio.to_thread(self._listed, self._folder / team)
        return sorted({*(self._given.get(team) or ()), *files})[:NAMES_SHOWN]

    def _read(self, folder: Path, names: Collection[str]) -> dict[str, str]:
        found = {}
        for name in names:
            file = folder / name
            try:
                with file.open("rb") as opened:
                    raw = opened.read(VALUE_LIMIT + 2)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                continue
            except OSError as error:
                raise Transient(f"the operator's secret {name} can't be read: {error.strerror}") from error
            value = _text(raw)
            if value:
                found[name] = value
        return found

    def _listed(self, folder: Path) -> list[str]:
        try:
            return [file.name for file in folder.iterdir() if _is_name(file.name) and file.is_file()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise Transient(f"the operator's secrets can't be listed: {error.strerror}") from error


def _text(raw: bytes) -> str:
    """Empty for what can't be a secret."""
    try:
        text = raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        return ""
    return text if len(text.encode()) <= VALUE_LIMIT else ""


def _is_name(text: str) -> bool:
    return secret_name(f"$SECRET.{text}") is not None
