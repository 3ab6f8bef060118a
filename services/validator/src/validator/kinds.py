"""Types of assertions: the interface of a type, the output it checks, and its findings."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from rota_common.json_text import extract_json, parse_json
from rota_contracts.json_values import MISSING, at, compact
from rota_contracts.messages.validation import Assertion
from rota_contracts.model import Json

NO_JSON = object()


class Unusable(Exception):
    """The assertion can't be tried on this output, and counts as failed, negated or not."""


class Faulty(Unusable):
    """The assertion is wrong: no output could keep it, so another turn is no use."""


@dataclass(frozen=True, slots=True)
class Result:
    """Whether the output grants the wish, and if not what it has instead, as in "but it has 12 words"."""

    granted: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """The assertion holds if `pattern` is found in `text`. A pattern may run for ever, so a child process searches."""

    pattern: str
    text: str


@dataclass(frozen=True, slots=True)
class RunScript:
    """The assertion holds if the script returns true; `given` is the JSON text that it reads."""

    name: str
    given: str


Deferred = Search | RunScript
"""Work outside this process that decides the assertion."""

Finding = bool | Result | Deferred


@dataclass(frozen=True)
class Output:
    """A task's output, parsed as JSON only where an assertion needs it."""

    text: str

    @cached_property
    def json(self) -> Json:
        """The JSON in the text, or NO_JSON."""
        return extract_json(self.text, NO_JSON)

    @cached_property
    def whole_json(self) -> Json:
        """The JSON value that is all of the text, but for a fence around it; or NO_JSON."""
        text = self.text.strip()
        if text.startswith("```") and text.endswith("```"):
            text = text.partition("\n")[2].removesuffix("```")
        try:
            return parse_json(text)
        except ValueError:
            return NO_JSON

    @property
    def is_string(self) -> bool:
        """Text is a string, also with JSON somewhere in it, unless all of it is another JSON value."""
        try:
            return isinstance(parse_json(self.text), str)
        except ValueError:
            return True

    def at(self, path: str) -> Json:
        """The value at the path, or MISSING. Raises Unusable when the output holds no JSON."""
        try:
            found = at(None if self.json is NO_JSON else self.json, path)
        except ValueError as error:
            raise Faulty(f"its `path` can't be read: {error}") from error
        if self.json is NO_JSON:
            raise Unusable("the output holds no JSON")
        return found

    def text_at(self, path: str | None) -> str:
        """The text at a path: other values as compact JSON, null and missing ones as an empty text."""
        if not path:
            return self.text
        value = self.at(path)
        if value is MISSING or value is None:
            return ""
        return value if isinstance(value, str) else compact(value)


class Kind(Protocol):
    """One type of assertion. Other packages add types by the entry point group `rota.assertions`."""

    @property
    def wish(self) -> Callable[[Assertion], str]:
        """Completes the sentence "make the output …", without the assertion's `negate`, which is the caller's."""
        ...

    @property
    def check(self) -> Callable[[Assertion, Output], Finding]:
        """Does the output grant the wish? A Deferred leaves that to a child process. Raises Unusable, or Faulty."""
        ...
