"""Errors that people outside may read: without paths, addresses and credentials (TG-35)."""

import re

REDACTED = "[REDACTED]"
LIMIT = 300

_HIDDEN = (
    r"\b[a-z][a-z0-9+.-]*://\S+",  # addresses, which may hold a password
    r"\b(?:bearer|basic)\s+[\w.~+/=-]{6,}",
    r"[\"']?\b[\w-]*(?:key|token|secret|password|passwd|pwd|authorization|credentials?)[\"']?\s*[:=]\s*"
    r"(?:\"[^\"]*\"|'[^']*'|(?:(?:bearer|basic)\s+)?[^\s\"',;]+)",
    r"\b(?:sk|pk|rk|ghp|gho|xox[a-z]|whsec|rota)[-_][\w-]{6,}",  # as those who make keys begin them
    r"\b[a-z]:\\\S+",
    r"(?<![\w.])(?:~|\.{1,2})?/[\w.@+~-]+(?:/[\w.@+~-]*)*",
    r"(?<![\w-])[\w+/=-]{32,}(?![\w-])",  # nothing that people write is as long as a key
)
_PATTERN = re.compile("|".join(_HIDDEN), re.IGNORECASE)


def redacted(text: str) -> str:
    """One line, at most 300 characters, in which what nobody outside should read is `[REDACTED]`."""
    shown = _PATTERN.sub(REDACTED, " ".join(text.split()))
    return shown if len(shown) <= LIMIT else shown[: LIMIT - 1] + "…"
