"""The forms of answers as JSON Schemas, for models that can be held to one; `forms` says the same in words."""

from collections.abc import Mapping
from typing import Any

from rota_common.json_schema import bare

TEXT, INTEGER = {"type": "string"}, {"type": "integer"}
ATTACHMENT = {"type": "object", "properties": {"title": TEXT, "file": TEXT}, "required": ["file"]}
RULE = {"anyOf": [TEXT, {"type": "object", "properties": {"type": TEXT, "path": TEXT, "value": {}}}]}
TASK = {
    "type": "object",
    "properties": {
        "description": TEXT,
        "executor_type": {"type": "string", "enum": ["assistant", "mcp", "process"]},
        "executor_id": TEXT,
        "goal_ref": TEXT,
        "expected_output": TEXT,
        "args": {"type": "array", "items": {}},
        "validation_rules": {"type": "array", "items": RULE},
    },
    "required": ["description", "executor_type", "executor_id"],
}


IN_ANSWER = "#/properties/content/properties/result"
"""Where a robot's own schema stands in that of the whole answer."""


def schema(
    kind: str, *, asked: bool = False, files: bool = False, result: Mapping[str, Any] | None = None
) -> Mapping[str, Any] | None:
    """The schema of this kind's answer; None where that is text. The arguments are those of `forms.form`."""
    match kind:
        case "goals":
            return _object({"content": TEXT} | ({} if asked else {"nothing_to_do": TEXT}), *(["content"] * asked))
        case "tasks":
            return _object({"tasks": {"type": "array", "items": TASK}, "reason": TEXT}, "tasks")
        case "delivery":
            made = {"attachments": {"type": "array", "items": ATTACHMENT}} if files else {}
            own = {} if result is None else {"result": _moved(bare(result))}
            content = _object({"summary": TEXT, "body": TEXT} | made | own, "summary", "body", *own)
            return _object({"content": content}, "content")
        case "needsearch":
            return _object({"search": {"type": "boolean"}, "reason": TEXT}, "search")
        case "keyword":
            return _object({"keywords": {"type": "array", "items": TEXT}}, "keywords")
        case "querydsl":
            chosen = {
                "collections": {"type": "array", "items": TEXT},
                "limit": INTEGER,
                "min_score": {"type": "number"},
            }
            return _object({"query": TEXT} | chosen, "query")
        case "rerank":
            return _object({"order": {"type": "array", "items": INTEGER}}, "order")
        case _:
            return None


def _moved(part: Any) -> Any:
    """With references that lead to the same schemas from its new place."""
    if isinstance(part, list):
        return [_moved(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: f"{IN_ANSWER}{value[1:]}" if key == "$ref" and isinstance(value, str) else _moved(value)
        for key, value in part.items()
    }


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*required]}
