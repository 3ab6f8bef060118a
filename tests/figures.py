"""The figures of a suite's run: printed at its end, and kept in `dist/`."""

import json
from pathlib import Path

from rota_contracts.catalog import SERVICES

DIST = Path(__file__).parents[1] / "dist"


class Figures:
    def __init__(self, name: str) -> None:
        self.kept_in = DIST / f"{name}.json"
        self.all: dict[str, object] = {}

    def note(self, name: str, value: object) -> None:
        self.all[name] = _rounded(value)

    def keep(self) -> None:
        self.kept_in.parent.mkdir(exist_ok=True)
        self.kept_in.write_text(json.dumps(self.all, indent=2) + "\n")

    def lines(self) -> list[str]:
        return [f"{name}: {_shown(value)}" for name, value in self.all.items()]


def note_memory(figures: Figures, when: str, by_service: dict[str, float]) -> None:
    """`by_service`: in MiB."""
    ours = {name: size for name, size in by_service.items() if name in SERVICES}
    figures.note(f"memory {when}, MiB", {"the seven": sum(ours.values()), **by_service})


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return round(value, 1) if isinstance(value, float) else value


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items())
    return str(value)
