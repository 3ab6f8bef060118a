"""The platform's settings of its agents, `agent.yml` beside their files: what all agents use, and their connectors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from executor.agents.agent_file import AgentFileError
from executor.domain.uses import NO_USES, Uses, UsesError, read_uses
from rota_common.secrets import MissingSecret, resolve

FILE = "agent.yml"
DEFAULT = "default"


@dataclass(frozen=True)
class PlatformFile:
    """`uses` holds where an agent's own file says nothing. `system`: the connector of each of the platform's agents,
    by its name without `rota.`; `default` is that of the others."""

    uses: Uses = NO_USES
    system: Mapping[str, str] = field(default_factory=dict)

    def connector(self, name: str) -> str:
        """Of the platform's agent `rota.<name>`; empty if nothing is said."""
        return self.system.get(name) or self.system.get(DEFAULT, "")


def read_platform(folder: Path | None, environ: Mapping[str, str], *, system: frozenset[str]) -> PlatformFile:
    """Empty where there is no file. `system`: the names of the platform's agents. Raises AgentFileError."""
    path = None if folder is None else folder / FILE
    if path is None or not path.exists():
        return PlatformFile()
    try:
        given: Any = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise AgentFileError(f"{FILE} is not YAML: {error}") from error
    if not isinstance(given, dict):
        raise AgentFileError(f"expected {FILE} to be a mapping of uses and system, got {given!r}")
    if unknown := sorted(map(str, given.keys() - {"uses", "system"})):
        raise AgentFileError(f"{FILE} may have uses and system, not {', '.join(unknown)}")
    try:
        return PlatformFile(read_uses(given.get("uses")), _system(given.get("system"), environ, system))
    except (UsesError, MissingSecret) as error:
        raise AgentFileError(f"{FILE} can't be read: {error}") from error


def _system(given: Any, environ: Mapping[str, str], known: frozenset[str]) -> Mapping[str, str]:
    if given is None:
        return {}
    names = ", ".join([DEFAULT, *sorted(known)])
    if not isinstance(given, dict):
        raise AgentFileError(f"system in {FILE}: expected a mapping of {names} to connectors, got {given!r}")
    if unknown := sorted(map(str, given.keys() - known - {DEFAULT})):
        raise AgentFileError(f"system in {FILE} may have {names}, not {', '.join(unknown)}")
    for name, connector in given.items():
        if connector is not None and not isinstance(connector, str):
            raise AgentFileError(f"system.{name} in {FILE}: expected the id of a connector, got {connector!r}")
    return {name: resolve(connector, environ) for name, connector in given.items() if connector}
