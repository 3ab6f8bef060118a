"""The rules of a planned task: those that can't be checked are left out, each with a note."""

import re
from collections.abc import Collection
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from pydantic import ValidationError

from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.validation import Assertion, AssertionType, ValidationRule

ADDED = "rota.assertions"
"""The entry points by which other packages add types of assertions."""

KINDS = ("string", "number", "boolean", "array", "object", "null")

SHOWN = 200


def checkable(given: Any, *, checkers: Collection[str], task_id: str) -> tuple[list[ValidationRule], list[str]]:
    """The rules that can be checked, and notes on the others. `checkers`: the agents that a rule may name."""
    kept, notes = list[ValidationRule](), list[str]()
    for raw in given if isinstance(given, list) else [given] if given else []:
        rule, why = _read(raw, checkers)
        if rule is not None:
            kept.append(rule)
        else:
            notes.append(f"plan: a rule of task {task_id} is left out, {why}: {excerpt(raw, SHOWN)}")
    return kept, notes


@cache
def known_types() -> frozenset[str]:
    """The built-in types, and those that are installed here beside them."""
    return frozenset([*AssertionType, *(each.name for each in entry_points(group=ADDED))])


def _read(raw: Any, checkers: Collection[str]) -> tuple[ValidationRule | None, str]:
    if isinstance(raw, str):
        return (raw, "") if raw.strip() else (None, "it is empty")
    try:
        rule = Assertion.model_validate(raw)
    except ValidationError:
        return None, "it is neither a sentence nor an assertion"
    why = _unknown(rule, checkers) or _incomplete(rule)
    return (None, why) if why else (rule, "")


def _unknown(rule: Assertion, checkers: Collection[str]) -> str:
    if rule.type not in known_types():
        return f"there is no type {rule.type!r} here"
    if rule.type == AssertionType.AGENT and rule.use not in (None, *checkers):
        return f"this robot doesn't have agent {rule.use!r}"
    return ""


def _incomplete(rule: Assertion) -> str:
    """What a built-in type lacks, without which it holds for no output."""
    match rule.type:
        case AssertionType.CONTAINS | AssertionType.NOT_CONTAINS if rule.value in (None, ""):
            return "it has no value"
        case AssertionType.JSON_PATH if not rule.path:
            return "it has no path"
        case AssertionType.TYPE if rule.value not in KINDS:
            return f"its value is none of {', '.join(KINDS)}"
        case AssertionType.SCRIPT if not rule.script:
            return "it names no script"
        case AssertionType.REGEX:
            return _broken(rule.value)
    return ""


def _broken(pattern: Any) -> str:
    if not isinstance(pattern, str) or not pattern:
        return "it has no pattern"
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"its pattern can't be read ({error})"
    return ""
