"""Secrets in every store, and how one is found again wherever it comes out."""

import base64
import hashlib
from collections.abc import Mapping

from rota_common.redaction import forms

NAMES = (
    "desk-token", "desk-key", "desk-bearer", "unused", "connector-key", "file", "foreign-robot", "foreign-knowledge",
    "foreign-file", "foreign-lesson", "foreign-attachment", "foreign-event", "diary", "lesson-of-another", "hook-token",
)  # fmt: skip


def _made(name: str) -> str:
    """Like no credential, so that only who knows it can hide it."""
    return f"quokka {name} {hashlib.sha256(name.encode()).hexdigest()[:12]}"


CANARIES: Mapping[str, str] = {name: _made(name) for name in NAMES}
SIGNING: Mapping[str, str] = {
    name: f"whsec_{base64.b64encode(hashlib.sha256(name.encode()).digest()).decode()}"
    for name in ("IN_SECRET", "OUT_SECRET")
}
_FORMS = {
    name: (*forms(value), value.encode().hex(), value[::-1])
    for name, value in {**CANARIES, **SIGNING, **{f"the middle of {n}": v[-12:] for n, v in CANARIES.items()}}.items()
}


def found_in(text: str) -> list[str]:
    """The names of the canaries that the text shows, as they are or encoded."""
    return [name for name, written in _FORMS.items() if any(form in text for form in written)]
