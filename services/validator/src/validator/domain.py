"""Rules and what becomes of them: which are assertions, and the verdict over all of them (VA-01, VA-11)."""

from collections.abc import Sequence
from dataclasses import dataclass

from rota_common.json_text import parse_json
from rota_contracts.validation import Assertion, ValidationResult, ValidationRule
from validator.assertions import Output, Unusable, wish
from validator.json_values import shown


@dataclass(frozen=True, slots=True)
class Outcome:
    """One assertion's outcome. `wish` reads as in "the output to contain …"; `issue` is empty when it holds."""

    wish: str
    issue: str = ""
    suggestion: str = ""

    @property
    def holds(self) -> bool:
        return not self.issue


def sort_rules(rules: Sequence[ValidationRule]) -> tuple[list[Assertion], list[str]]:
    """The assertions, also those written as JSON in a text, and the sentences that only a model can judge."""
    read = [_assertion(rule) if isinstance(rule, str) else rule for rule in rules]
    return [rule for rule in read if isinstance(rule, Assertion)], [rule for rule in read if isinstance(rule, str)]


def _assertion(rule: str) -> ValidationRule:
    try:
        return Assertion.model_validate(parse_json(rule))
    except ValueError:  # neither JSON nor, in pydantic's words, an assertion
        return rule


def judged(assertion: Assertion, output: Output, *, granted: bool) -> Outcome:
    """The outcome of an assertion whose wish is granted or not."""
    wished = _wished(assertion)
    if granted is not assertion.negate:
        return Outcome(wished)
    where, negation = _where(assertion), "not " if assertion.negate else ""
    issue = assertion.message or f"expected {wished}, got {_got(assertion, output)}"
    return Outcome(wished, issue, f"Make {where} {negation}{wish(assertion)}.")


def unusable(assertion: Assertion, reason: Unusable) -> Outcome:
    """The outcome of an assertion that can't be tried: failed, and never passed over in silence."""
    wished = _wished(assertion)
    return Outcome(wished, f"expected {wished}, but {reason}")


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


def _details(outcomes: Sequence[Outcome], held: int) -> str:
    if not outcomes:
        return ""
    lines = [f"- [{'x' if outcome.holds else ' '}] {outcome.issue or outcome.wish}" for outcome in outcomes]
    return "\n".join([f"**Rules: {held} of {len(outcomes)} hold.**", "", *lines])


def _where(assertion: Assertion) -> str:
    return f"`{assertion.path}` of the output" if assertion.path else "the output"


def _wished(assertion: Assertion) -> str:
    return f"{_where(assertion)} {'not ' if assertion.negate else ''}to {wish(assertion)}"


def _got(assertion: Assertion, output: Output) -> str:
    return shown(output.at(assertion.path)) if assertion.path else shown(output.text)
