"""Validation errors of a definition, one line per field, with an example for fields of a clock."""

from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from rota_contracts.tooling.schemas import robot_schema

IN_ROBOT = ("robot_config", "clock")
BARE = ("clock",)

EXAMPLES = {"mode": "mode: times (or interval, or daemon)", "policy": "policy: once"}
CLOCK = 'clock: {mode: times, times: ["09:00", "17:30"], days: [Mon, Tue], tz: Europe/Paris}'

Location = tuple[int | str, ...]


def describe(error: ValidationError, *, at: tuple[str, ...] = ()) -> list[str]:
    """One line per error; `at` is the location of the validated part in the definition."""
    return [_line((*at, *one["loc"]), one) for one in error.errors()]


def message_of(error: Any) -> str:
    """Pydantic's message without its prefix, or what it means in a definition."""
    given = error["input"]
    match error["type"]:
        case "extra_forbidden":
            near = get_close_matches(str(error["loc"][-1]), _names(), n=1)
            return "unknown field" + (f": did you mean {near[0]}?" if near else "")
        case "list_type" if isinstance(given, str):
            return f"expected a list, like [{given}]"
        case "string_type" if isinstance(given, dict):
            return "expected a text, not a mapping: a text with `: ` in it needs quotes"
        case _:
            return str(error["msg"]).removeprefix("Value error, ")


def _names() -> set[str]:
    """All fields that a robot's definition may have, wherever."""
    schema = robot_schema()
    return {name for part in (schema, *schema.get("$defs", {}).values()) for name in part.get("properties", {})}


def _line(location: Location, error: Any) -> str:
    in_clock = location[:2] == IN_ROBOT or location[:1] == BARE
    example = _example(location, error) if in_clock else ""
    return f"{'.'.join(str(part) for part in location)}: {message_of(error)}{example}"


def _example(location: Location, error: Any) -> str:
    if error["type"] == "value_error":  # such a message has its own example
        return ""
    return f"; for example {EXAMPLES.get(str(location[-1]), CLOCK)}"
