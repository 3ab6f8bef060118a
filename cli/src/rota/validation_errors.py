"""What is wrong in a definition, field by field, with an example where the field is one of a clock."""

from typing import Any

from pydantic import ValidationError

IN_ROBOT = ("robot_config", "clock")
BARE = ("clock",)

EXAMPLES = {"mode": "mode: times (or interval, or daemon)", "policy": "policy: once"}
WHOLE = 'clock: {mode: times, times: ["09:00", "17:30"], days: [Mon, Tue], tz: Europe/Paris}'

Where = tuple[int | str, ...]


def faults(error: ValidationError, *, at: tuple[str, ...] = ()) -> list[str]:
    """A line for each; `at` is where in the definition the checked part stands."""
    return [_line((*at, *fault["loc"]), fault) for fault in error.errors()]


def words(fault: Any) -> str:
    """Pydantic's sentence without its own prefix."""
    return str(fault["msg"]).removeprefix("Value error, ")


def _line(where: Where, fault: Any) -> str:
    in_clock = where[:2] == IN_ROBOT or where[:1] == BARE
    return f"{'.'.join(str(part) for part in where)}: {words(fault)}{_more(where, fault) if in_clock else ''}"


def _more(where: Where, fault: Any) -> str:
    if fault["type"] != "value_error":  # pydantic's own sentences hold no example
        return f"; right would be {EXAMPLES.get(str(where[-1]), WHOLE)}"
    number = fault["input"]
    if "times" in where and isinstance(number, int):  # YAML reads 17:30 as 17 * 60 + 30
        return f'; in YAML a time needs quotes: "{number // 60:02}:{number % 60:02}"'
    return ""
