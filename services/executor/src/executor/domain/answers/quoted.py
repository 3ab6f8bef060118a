"""Calls in an answer that others wrote: they stand in the prompt's material, and aren't the model's own."""

import re
from collections.abc import Sequence

from executor.domain.answers.dialects import in_one_dialect
from executor.domain.answers.text_calls import text_calls
from executor.domain.conversation.chat import Tool
from rota_contracts.json_values import same


def quoted_calls(text: str, tools: Sequence[Tool], material: str, *, version: int) -> list[str]:
    """The sources of those calls in an answer that stand in `material` too, as they are or in another form."""
    found = text_calls(text, tools, version=version).calls
    if not found:
        return []
    squashed, others = _squashed(in_one_dialect(material)), text_calls(material, tools, version=version).calls
    return [
        call.source
        for call in found
        if _squashed(call.source) in squashed
        or any(call.name == other.name and same(call.arguments, other.arguments) for other in others)
    ]


def _squashed(text: str) -> str:
    """Without what a quotation changes: white space, and the backslashes of JSON in JSON."""
    return re.sub(r"\\[nrt]|[\s\\]+", "", text)
