"""Findings of `rota doctor` and `rota upgrade --check`: a part, how it stands, and for a problem the repair."""

from dataclasses import dataclass
from enum import StrEnum

TIMEOUT_S = 2


class Level(StrEnum):
    """A `note` is no problem."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    part: str
    level: Level
    found: str
    mend: str = ""
    asked: bool = True
    """False: the part wasn't looked at, and `mend` says what to set."""
