"""The registry of assertion types: built-in ones, and those of other packages."""

from collections.abc import Mapping

from rota_contracts.messages.validation import Assertion
from validator.assertions import BUILT_IN
from validator.kinds import Faulty, Finding, Kind, Output, Unusable


class Kinds:
    """`added` are types of other packages. Raises ValueError for the name of a built-in type."""

    def __init__(self, added: Mapping[str, Kind] | None = None) -> None:
        added = added or {}
        if taken := BUILT_IN.keys() & added.keys():
            raise ValueError(f"these types of assertions are built in: {', '.join(sorted(taken))}; choose other names")
        self._added, self._known = added, {**BUILT_IN, **added}

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def wish(self, assertion: Assertion) -> str:
        """The wish of an assertion, as in "make the output contain …"; without its `negate`."""
        known = self._known.get(assertion.type)
        if known is None:
            return f"pass the assertion {assertion.type}"
        try:
            return known.wish(assertion)
        except Exception:  # `check` reports what is wrong with it
            return f"pass the assertion {assertion.type}"

    def check(self, assertion: Assertion, output: Output) -> Finding:
        """The finding of an assertion, without its `negate`. Raises Unusable."""
        known = self._known.get(assertion.type)
        if known is None:
            names = ", ".join(sorted(self._known))
            raise Faulty(f"assertion type '{assertion.type}' isn't known here: known are {names}")
        if assertion.type not in self._added:
            return known.check(assertion, output)
        try:
            return known.check(assertion, output)
        except (Unusable, RecursionError):
            raise
        except Exception as error:  # another package's fault must fail its own rule, not all of them for ever
            raise Faulty(f"the check of type '{assertion.type}' failed: {type(error).__name__}: {error}") from error
