"""All types of assertions that this validator knows: its own, and those of other packages (VA-10)."""

from collections.abc import Mapping

from rota_contracts.messages.validation import Assertion
from validator.assertions import BUILT_IN
from validator.kinds import Faulty, Finding, Kind, Output, Unusable


class Kinds:
    """`added` are types of other packages; one that has a name of ours is refused with ValueError."""

    def __init__(self, added: Mapping[str, Kind] | None = None) -> None:
        added = added or {}
        if taken := BUILT_IN.keys() & added.keys():
            raise ValueError(f"these types of assertions are built in: {', '.join(sorted(taken))}; choose other names")
        self._added, self._known = added, {**BUILT_IN, **added}

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def wish(self, assertion: Assertion) -> str:
        """What is asked, as in "make the output contain …"; without the assertion's `negate`."""
        known = self._known.get(assertion.type)
        if known is None:
            return f"pass the assertion {assertion.type}"
        try:
            return known.wish(assertion)
        except Exception:  # `check` says what is wrong with it
            return f"pass the assertion {assertion.type}"

    def check(self, assertion: Assertion, output: Output) -> Finding:
        """Is the wish granted, or what must be done to know? `negate` is the caller's. Raises Unusable."""
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
