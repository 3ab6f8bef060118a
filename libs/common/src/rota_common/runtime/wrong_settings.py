"""Sentences about wrong settings: which variable, what is expected, and what came, unless that may be a secret."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsError

from rota_common.secrets import MissingSecret

WRONG_SETTINGS = 78
"""The exit code of a service, or a command, with a setting that it can't use: EX_CONFIG of sysexits.h."""

VARIABLE = re.compile(r"\bROTA_[A-Z][A-Z_]*")
OF_A_SECRET = re.compile(r"KEY|SECRET|PASSWORD|TOKEN|HEADERS")
FIELD = re.compile(r'field "(\w+)"')
SHOWN_CHARS = 100
NOT_SHOWN = "a value that isn't shown, as it may hold a secret"

KINDS = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a number",
    "bool": "true or false",
    "string": "a text",
    "dict": "a JSON object",
    "tuple": "a JSON list",
    "list": "a JSON list",
}
LIMITS = {"ge": "at least", "le": "at most", "gt": "more than", "lt": "less than"}

Settings = TypeVar("Settings", bound=BaseSettings)


@contextmanager
def ended_by_problems(settings: type[BaseSettings], say: Callable[[str], object]) -> Iterator[None]:
    """What is wrong with settings ends the process: `say` is called with each sentence, and the exit code is
    WRONG_SETTINGS."""
    try:
        yield
    except ValueError as error:
        problems = problems_of(error, settings)
        if not problems:
            raise
        for problem in problems:
            say(problem)
        sys.exit(WRONG_SETTINGS)


def settings_of_command(settings: type[Settings]) -> Settings:
    """What the environment says; what is wrong with it stands on standard error, a line each."""
    with ended_by_problems(settings, lambda problem: sys.stderr.write(f"{problem}\n")):
        return settings()


def problems_of(error: ValueError, settings: type[BaseSettings]) -> list[str]:
    """A sentence for each setting that the error is about; none for an error that is about no setting. The error is
    that of making `settings`, or of a later look at a value, whose text names the variable itself."""
    if isinstance(error, ValidationError):
        return [_sentence(each, settings) for each in error.errors(include_url=False)]
    if isinstance(error, SettingsError):
        found = FIELD.search(str(error))
        return [_no_json(found[1], settings)] if found else []
    return [str(error)] if isinstance(error, MissingSecret) or VARIABLE.search(str(error)) else []


def _variable(name: str, settings: type[BaseSettings]) -> str:
    return f"{settings.model_config.get('env_prefix', '')}{name}".upper()


def _no_json(name: str, settings: type[BaseSettings]) -> str:
    variable = _variable(name, settings)
    return f"expected {variable} as JSON, got {_shown(name, variable, os.environ.get(variable, ''), settings)}"


def _sentence(error: ErrorDetails, settings: type[BaseSettings]) -> str:
    name, *path = map(str, error["loc"])
    variable = _variable(name, settings)
    where = f" (at {'.'.join(path)})" if path else ""
    own = str(error.get("ctx", {}).get("error", ""))
    if VARIABLE.search(own) and ", got " in own:
        return own
    said = own if VARIABLE.search(own) else f"expected {variable} as {own or _kind(error)}"
    return f"{said}{where}, got {_shown(name, variable, error['input'], settings)}"


def _kind(error: ErrorDetails) -> str:
    given: Mapping[str, Any] = error.get("ctx", {})
    if error["type"] in ("enum", "literal_error"):
        return f"one of {given['expected']}"
    for limit, words in LIMITS.items():
        if limit in given:
            return f"{words} {given[limit]:g}"
    return KINDS.get(error["type"].partition("_")[0], f"a value that passes: {error['msg']}")


def _shown(name: str, variable: str, value: object, settings: type[BaseSettings]) -> str:
    field = settings.model_fields.get(name)
    hidden = field is None or not field.repr or "SecretStr" in str(field.annotation) or isinstance(value, SecretStr)
    text = repr(value)
    if hidden or OF_A_SECRET.search(variable) or _holds_a_password(str(value)):
        return NOT_SHOWN
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _holds_a_password(text: str) -> bool:
    try:
        return urlsplit(text).username is not None
    except ValueError:
        return True
