"""The raw figures, kept in a JSON file after each part."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rota_common.clock import now

DIGITS = 4


@dataclass
class Kept:
    """`parts`: name → its figures. `missing`: name → why it has none."""

    file: Path
    machine: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    some: bool = False
    """Are only some parts measured now, on containers of their own?"""

    @classmethod
    def read(cls, file: Path) -> "Kept":
        """Empty if there is no file."""
        return cls(file, **json.loads(file.read_text())) if file.exists() else cls(file)

    def note(self, name: str, figures: dict[str, Any], *, took: float) -> None:
        origin = {"month": f"{now():%Y-%m}", "commit": self.machine["commit"], "took_s": took, "some": self.some}
        self.parts[name] = _rounded({**origin, **figures})
        self.missing.pop(name, None)
        self.write()

    def miss(self, name: str, reason: str) -> None:
        self.parts.pop(name, None)
        self.missing[name] = reason
        self.write()

    def shown(self) -> dict[str, Any]:
        return {"machine": self.machine, "parts": self.parts, "missing": self.missing}

    def write(self) -> None:
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(json.dumps(self.shown(), indent=2) + "\n")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return round(value, DIGITS) if isinstance(value, float) else value
