"""The capabilities of a connector's model: as `models.yml` says, else the connector's own file, else the usual ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AfterValidator, TypeAdapter, ValidationError

from executor.agents.operator_files import ConnectorFileError
from rota_contracts.messages.provider import Capability, VisionForm

FILE = "models.yml"
"""In the folder of connectors: connector id → what its model can. It goes before the connectors' own files, which may
then be taken over as they are."""

INLINE_THINKING = "inline_thinking"
"""Beside the eight: the model's thoughts stand in the text of its answer, so that it isn't streamed."""

USUAL: Mapping[str, bool] = {each: each not in (Capability.REASONING, Capability.JSON) for each in Capability}
OF_TYPE: Mapping[str, Mapping[str, bool]] = {"anthropic": {Capability.AUDIO: False}}


def _known(stated: dict[str, bool | str]) -> dict[str, bool | str]:
    for name, value in stated.items():
        if name not in (*Capability, INLINE_THINKING):
            raise ValueError(f"expected capabilities, of {', '.join([*Capability, INLINE_THINKING])}, got {name}")
        if isinstance(value, str) and (name != Capability.VISION or value not in [*VisionForm]):
            forms = f", {' or '.join(VisionForm)}" if name == Capability.VISION else ""
            raise ValueError(f"expected capability {name} to be true or false{forms}, got {value!r}")
    return stated


Stated = Annotated[dict[str, bool | str], AfterValidator(_known)]
"""What a file says of some capabilities."""

_Models = TypeAdapter(dict[str, Stated])


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
