"""The version of Rota: the only place that says it. Each package's pyproject.toml reads it from here."""

import re

VERSION = "0.3.0.dev0"
FIRST_REPORTED = "0.2.0"
"""Services of versions before don't say which one they are."""


def beside(running: str, coming: str) -> bool:
    """May the two run side by side? So may versions of one major number whose minor numbers differ by one at most.
    Raises ValueError for what is no version."""
    (major, minor), (other, next_minor) = _numbers(running), _numbers(coming)
    return major == other and abs(minor - next_minor) <= 1


def _numbers(version: str) -> tuple[int, int]:
    if found := re.match(r"(\d+)\.(\d+)\.\d", version):
        return int(found[1]), int(found[2])
    raise ValueError(f"expected a version like 0.2.0, got {version!r}")
