"""The result for programs, in the form that its robot's owner has set."""

from collections.abc import Mapping

from executor.domain.planning.parsing import UnusableAnswer
from rota_common.json_schema import misfits
from rota_contracts.json_values import compact
from rota_contracts.model import Json

LIMIT = 16 * 1024
"""Bytes of its JSON: it goes inline with each message of the delivery."""


def fitting(result: Json, schema: Mapping[str, Json]) -> dict[str, Json]:
    """The result as it is. Raises UnusableAnswer, with the reasons, for one that doesn't fit the schema."""
    if not isinstance(result, dict):
        raise UnusableAnswer("expected content.result, an object by the JSON Schema of the form: there is none")
    if (size := len(compact(result).encode(errors="replace"))) > LIMIT:
        raise UnusableAnswer(
            f"expected content.result of at most {LIMIT} bytes, got {size}: long texts belong to the body"
        )
    if problems := misfits(result, schema, name="content.result"):
        raise UnusableAnswer(f"expected content.result by the JSON Schema of the form, but {'; '.join(problems)}")
    return result
