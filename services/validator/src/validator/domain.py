"""Rules: the assertions among them, their outcomes, and the verdict over all outcomes."""

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
    """The outcome of one assertion. `wish` reads as in "the output to contain …"; `issue` is empty when it holds.

    `faulty`: the rule is wrong, so that no output could keep it.
    """

    wish: str
    issue: str = ""
    suggestion: str = ""
    faulty: bool = False

    @property
    def holds(self) -> bool:
        return not self.issue


@dataclass(frozen=True, slots=True)
class SortedRules:
    """The assertions of this layer; `open_rules` are the second's: sentences, and `agent` assertions as JSON."""

    assertions: list[Assertion]
    open_rules: list[str]


def sort_rules(rules: Sequence[ValidationRule], kinds: Kinds) -> SortedRules:
    """Assertions are also those written as JSON in a text, and sentences that plainly mean one."""
    result = SortedRules([], [])
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
    """None for a sentence, and for JSON of an unknown type: a model may make sense of it."""
    try:
        assertion = Assertion.model_validate(parse_json(rule))
    except ValueError:  # neither JSON nor, in pydantic's words, an assertion
        return parse_sentence(rule)
    return assertion if assertion.type in kinds else None


def outcome_of(assertion: Assertion, output: Output, result: Result, kinds: Kinds) -> Outcome:
    """The outcome of an assertion that was tried."""
    wish = wish_of(assertion, kinds)
    if result.granted is not assertion.negate:
        return Outcome(wish)
    where, negation = _where(assertion), "not " if assertion.negate else ""
    came = f"but {result.message}" if result.message else f"got {_got(assertion, output)}"
    issue = assertion.message or f"expected {wish}, {came}"
    return Outcome(wish, issue, f"Make {where} {negation}{kinds.wish(assertion)}.")


def unusable(assertion: Assertion, reason: Unusable, kinds: Kinds) -> Outcome:
    """The outcome of an assertion that can't be tried: it fails, with the reason as its issue."""
    wish = wish_of(assertion, kinds)
    return Outcome(wish, f"expected {wish}, but {reason}", faulty=isinstance(reason, Faulty))


def verdict(outcomes: Sequence[Outcome]) -> ValidationResult:
    """Passed when every rule holds; the score is the share that does."""
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
