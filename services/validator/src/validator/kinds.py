"""What an assertion is made of: the output it looks at, and what a type of assertion has to offer (VA-10)."""

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
    """The fault is the assertion's: no output could keep it, so nobody needs to try again."""


@dataclass(frozen=True, slots=True)
class Result:
    """Whether the wish is granted, and what came instead, as in "but it has 12 words"."""

    granted: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """The assertion holds if `pattern` is found in `text`. A pattern may run for ever, so the shell searches."""

    pattern: str
    text: str


@dataclass(frozen=True, slots=True)
class RunScript:
    """The assertion holds if the script says so; `given` is the JSON text that it reads."""

    name: str
    given: str


Deferred = Search | RunScript
"""What the shell must do to know."""

Finding = bool | Result | Deferred


@dataclass(frozen=True)
class Output:
    """A task's output; it is read as JSON only where an assertion needs it."""

    text: str

    @cached_property
    def json(self) -> Json:
        """The JSON in the text, or NO_JSON."""
        return extract_json(self.text, NO_JSON)

    @cached_property
    def whole_json(self) -> Json:
        """The JSON value that all of the text is, a fence around it aside; or NO_JSON."""
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
        """What lies at the path, or MISSING. Raises Unusable where there is no JSON to look into."""
        try:
            found = at(None if self.json is NO_JSON else self.json, path)
        except ValueError as error:
            raise Faulty(f"its `path` can't be read: {error}") from error
        if self.json is NO_JSON:
            raise Unusable("the output holds no JSON")
        return found

    def text_at(self, path: str | None) -> str:
        """The text of a part; what isn't text as compact JSON; what isn't there as nothing."""
        if not path:
            return self.text
        value = self.at(path)
        if value is MISSING or value is None:
            return ""
        return value if isinstance(value, str) else compact(value)


class Kind(Protocol):
    """One type of assertion. Those of other packages come by the entry point group `rota.assertions`."""

    @property
    def wish(self) -> Callable[[Assertion], str]:
        """Completes the sentence "make the output …", without the assertion's `negate`, which is the caller's."""
        ...

    @property
    def check(self) -> Callable[[Assertion, Output], Finding]:
        """Is the wish granted, or what must be done to know? Raises Unusable, or Faulty."""
        ...
