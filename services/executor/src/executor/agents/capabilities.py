"""The capabilities of a connector's model: as `models.yml` says, else the connector's own file, else the usual ones."""

from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from executor.agents.operator_files import ConnectorFileError
from rota_contracts.definitions.connector import StatedCapabilities
from rota_contracts.messages.provider import Capability

FILE = "models.yml"
"""In the folder of connectors: connector id → what its model can. It goes before the connectors' own files, which may
then be taken over as they are."""

USUAL: Mapping[str, bool] = {each: each not in (Capability.REASONING, Capability.JSON) for each in Capability}
OF_TYPE: Mapping[str, Mapping[str, bool]] = {"anthropic": {Capability.AUDIO: False}}


_Models = TypeAdapter(dict[str, StatedCapabilities])


def merged(kind: str, *stated: Mapping[str, bool | str]) -> dict[str, bool | str]:
    """All eight, and what else is stated; the first that says something of one holds, and then what is usual for the
    connector's type."""
    made: dict[str, bool | str] = {**USUAL, **OF_TYPE.get(kind, {})}
    for each in reversed(stated):
        made |= each
    return made


def read_models(folder: Path) -> Mapping[str, Mapping[str, bool | str]]:
    """The operator's `models.yml`, if there is one. Raises ConnectorFileError."""
    if not (path := folder / FILE).is_file():
        return {}
    try:
        return _Models.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (yaml.YAMLError, ValidationError) as error:
        raise ConnectorFileError(f"{FILE} can't be read: {error}") from error
