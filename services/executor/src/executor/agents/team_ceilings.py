"""The ceilings of teams: the operator's YAML file, which is read again when it changes."""

from pathlib import Path

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from executor.agents.operator_files import EVERY_TEAM
from rota_common.runtime.logs import logger
from rota_contracts.robots.ceilings import Ceilings

NONE = Ceilings()
_log = logger(service="executor")


class StrictCeilings(Ceilings):
    model_config = ConfigDict(frozen=True, extra="forbid")


FILE = TypeAdapter(dict[str, StrictCeilings])


class CeilingsFileError(ValueError):
    """The file of ceilings can't be read; names the file and the field."""


class TeamCeilings:
    """By team; `*` holds for those that the file doesn't name."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._changed = 0.0
        self._of: dict[str, StrictCeilings] = {}
        if path is not None:
            self._read(path)

    def of(self, team: str) -> Ceilings:
        return self._of.get(team) or self._of.get(EVERY_TEAM) or NONE

    def refresh(self) -> None:
        """Read a changed file; one that can't be read changes nothing."""
        if self._path is None:
            return
        try:
            if self._path.stat().st_mtime != self._changed:
                self._read(self._path)
        except (CeilingsFileError, OSError) as error:
            _log.error("the ceilings of teams stay as they were", reason=str(error))

    def _read(self, path: Path) -> None:
        try:
            changed = path.stat().st_mtime
            self._of = FILE.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
        except (OSError, yaml.YAMLError, ValidationError) as error:
            raise CeilingsFileError(f"file of ceilings {path.name} can't be read: {error}") from error
        self._changed = changed
