"""Rules and what becomes of them: which are assertions, and the verdict over all of them (VA-01, VA-11)."""

from collections.abc import Sequence
from dataclasses import dataclass

from rota_common.json_text import parse_json
from rota_contracts.json_values import shown
from rota_contracts.messages.validation import Assertion, AssertionType, ValidationResult, ValidationRule
from validator.kinds import Faulty, Output, Result, Unusable
from validator.plain_rules import parse_sentence
from validator.registry import Kinds


@dataclass(frozen=True, slots=True)
class Outcome:
    """One assertion's outcome. `wish` reads as in "the output to contain …"; `issue` is empty when it holds.

    `faulty`: the fault is the rule's, and no output could keep it.
    """

    wish: str
    issue: str = ""
    suggestion: str = ""
    faulty: bool = False

    @property
    def holds(self) -> bool:
        return not self.issue


@dataclass(frozen=True, slots=True)
class Sorted:
    """What this layer tries, and what it leaves to the second: sentences, and `agent` assertions as JSON."""

    assertions: list[Assertion]
    open_rules: list[str]


def sort_rules(rules: Sequence[ValidationRule], kinds: Kinds) -> Sorted:
    """Assertions are also those written as JSON in a text, and sentences that plainly mean one."""
    result = Sorted([], [])
    for rule in rules:
        assertion = as_assertion(rule, kinds) if isinstance(rule, str) else rule
        if assertion is None:
            result.open_rules.append(str(rule))
        elif assertion.type == AssertionType.AGENT and assertion.use:
            result.open_rules.append(assertion.model_dump_json(exclude_defaults=True))
        else:
            result.assertions.append(assertion)
    return result


def as_assertion(rule: str, kinds: Kinds) -> Assertion | None:
    """None for a sentence, and for JSON of a type that nobody knows: a model may make sense of it."""
    try:
        assertion = Assertion.model_validate(parse_json(rule))
    except ValueError:  # neither JSON nor, in pydantic's words, an assertion
        return parse_sentence(rule)
    return assertion if assertion.type in kinds else None


def outcome_of(assertion: Assertion, output: Output, said: Result, kinds: Kinds) -> Outcome:
    """The outcome of an assertion whose wish is granted or not."""
    wished = wish_of(assertion, kinds)
    if said.granted is not assertion.negate:
        return Outcome(wished)
    where, negation = _where(assertion), "not " if assertion.negate else ""
    came = f"but {said.message}" if said.message else f"got {_got(assertion, output)}"
    issue = assertion.message or f"expected {wished}, {came}"
    return Outcome(wished, issue, f"Make {where} {negation}{kinds.wish(assertion)}.")


def unusable(assertion: Assertion, reason: Unusable, kinds: Kinds) -> Outcome:
    """The outcome of an assertion that can't be tried: failed, and never passed over in silence."""
    wished = wish_of(assertion, kinds)
    return Outcome(wished, f"expected {wished}, but {reason}", faulty=isinstance(reason, Faulty))


def verdict(outcomes: Sequence[Outcome]) -> ValidationResult:
    """VA-11 for the rule layer: passed when every rule holds; the score is the share that does."""
    held = sum(outcome.holds for outcome in outcomes)
    passed = held == len(outcomes)
    return ValidationResult(
        passed=passed,
        score=held / len(outcomes) if outcomes else 1.0,
        issues=[outcome.issue for outcome in outcomes if outcome.issue],
        suggestions=[outcome.suggestion for outcome in outcomes if outcome.suggestion],
        details=_details(outcomes, held),
        complete=passed,
    )


def wish_of(assertion: Assertion, kinds: Kinds) -> str:
    return f"{_where(assertion)} {'not ' if assertion.negate else ''}to {kinds.wish(assertion)}"


def _details(outcomes: Sequence[Outcome], held: int) -> str:
    if not outcomes:
        return ""
    lines = [f"- [{'x' if outcome.holds else ' '}] {outcome.issue or outcome.wish}" for outcome in outcomes]
    return "\n".join([f"**Rules: {held} of {len(outcomes)} hold.**", "", *lines])


def _where(assertion: Assertion) -> str:
    return f"`{assertion.path}` of the output" if assertion.path else "the output"


def _got(assertion: Assertion, output: Output) -> str:
    return shown(output.at(assertion.path)) if assertion.path else shown(output.text)
