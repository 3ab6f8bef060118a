"""Texts as spans and activities show them: short, and without credentials."""

import json
from typing import Any

from rota_common.redaction import json_without_credentials, without_credentials
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.text import Text

PREVIEW, WHOLE = 500, 50_000
"""Characters of an output, and of an input where inputs are shown."""


def said(text: str) -> str:
    """What a model wrote, in the form of OpenTelemetry's conventions."""
    messages = [{"role": "assistant", "parts": [{"type": "text", "content": preview(text)}]}]
    return json.dumps(messages, ensure_ascii=False)


def shown(text: Text) -> str:
    """A text that is kept by reference is shown by its size."""
    return text.inline or "" if text.ref is None else f"({text.ref.size} bytes)"


def preview(text: str) -> str:
    """The beginning of an output, without credentials: one that the cut would halve is hidden first."""
    return excerpt(without_credentials(text[:WHOLE]), PREVIEW)


def whole(value: Any) -> str:
    """An input as JSON, without credentials."""
    return excerpt(json.dumps(json_without_credentials(value), ensure_ascii=False), WHOLE)
