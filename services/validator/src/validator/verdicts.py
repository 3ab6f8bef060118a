"""Verdicts of agents, and the one verdict over both layers."""

from collections.abc import Sequence

from rota_common.json_text import extract_json
from rota_contracts.messages.agent import AgentReply
from rota_contracts.messages.validation import Assertion, Conversation, ValidationResult
from rota_contracts.model import Json
from validator.domain import wish_of
from validator.registry import Kinds
from validator.replies import with_reply

NOTES, NOTE_LIMIT, DETAILS_LIMIT = 20, 1000, 20_000
"""How many issues and suggestions are kept, and how many characters of each and of the details."""


class NoVerdict(Exception):
    """An agent returned no verdict; the message is the reason."""


def read_verdict(answer: AgentReply, threshold: float) -> ValidationResult:
    """The verdict in an agent's answer. It passes with `passed` true and a score of at least `threshold`.

    Raises NoVerdict."""
    if answer.error:
        raise NoVerdict(f"the validation agent {answer.agent_id} failed: {answer.error}")
    found = answer.response if isinstance(answer.response, dict) else extract_json(answer.content)
    if isinstance(found, dict) and isinstance(found.get("passed"), bool):
        return _read(found, threshold)
    wanted = 'a JSON object with "passed" true or false'
    raise NoVerdict(f"expected {wanted} of the validation agent {answer.agent_id}, got: {answer.content[:200]!r}")


def assertion_verdict(assertion: Assertion, verdict: ValidationResult, kinds: Kinds) -> ValidationResult:
    """The verdict over an `agent` assertion; `verdict` is its agent's."""
    wish = wish_of(assertion, kinds)
    holds = verdict.passed is not assertion.negate
    details = f"- [{'x' if holds else ' '}] {wish}" + (f"\n\n{verdict.details}" if verdict.details else "")
    if holds:
        score = 1.0 if assertion.negate else verdict.score
        return ValidationResult(passed=True, score=score, details=details, complete=True)
    reason = "its agent says that it does" if assertion.negate else "; ".join(verdict.issues)
    return ValidationResult(
        passed=False,
        score=0.0 if assertion.negate else verdict.score,
        issues=[assertion.message or f"expected {wish}, but {reason}"],
        suggestions=verdict.suggestions,
        details=details,
        reply_content="" if assertion.negate else verdict.reply_content,
    )


def merge(layers: Sequence[ValidationResult], threshold: float, talk: Conversation) -> ValidationResult:
    """Passed if all layers are, with the lowest score, and with a reply for the next turn if there is one.

    Agents that fail the output may bring replies of their own. If all failed layers have one, the reply is these;
    otherwise it is the feedback over all issues, with these among the suggestions.
    """
    score = min((layer.score for layer in layers), default=1.0)
    passed = all(layer.passed for layer in layers) and score >= threshold
    failed = [layer for layer in layers if not layer.passed]
    replies = [layer.reply_content for layer in failed if layer.reply_content]
    own_words = len(replies) == len(failed)
    issues = [issue for layer in layers for issue in layer.issues]
    result = ValidationResult(
        passed=passed,
        score=score,
        issues=issues if passed or issues else [_too_low(score, threshold)],
        suggestions=[note for layer in layers for note in layer.suggestions] + ([] if own_words else replies),
        details="\n\n".join(layer.details for layer in layers if layer.details),
        complete=passed,
    )
    return with_reply(result, talk, own="\n\n".join(replies) if own_words else "")


def _read(answer: dict[str, Json], threshold: float) -> ValidationResult:
    agreed: bool = answer["passed"]
    score = _score(answer.get("score"), agreed)
    passed = agreed and score >= threshold
    issues = _notes(answer.get("issues"))
    if agreed and not passed:
        issues.append(_too_low(score, threshold))
    if not passed and not issues:
        issues.append("the validation agent found that the output doesn't do what was asked, and didn't say why")
    details = answer.get("details")
    return ValidationResult(
        passed=passed,
        score=score,
        issues=issues,
        suggestions=_notes(answer.get("suggestions")),
        details=details[:DETAILS_LIMIT] if isinstance(details, str) else "",
        complete=passed,
        reply_content="" if passed else _reply(answer),
    )


def _reply(answer: dict[str, Json]) -> str:
    """The agent's own reply to the author, unless its `need_reply` is false."""
    content = answer.get("reply_content")
    wanted = isinstance(content, str) and answer.get("need_reply") is not False
    return str(content).strip()[:DETAILS_LIMIT] if wanted else ""


def _too_low(score: float, threshold: float) -> str:
    return f"the score is {score:g}; at least {threshold:g} passes"


def _score(given: Json, passed: bool) -> float:
    """A score outside 0 to 1 is on a scale of the model's own: `passed` decides, as without a score."""
    if isinstance(given, (int, float)) and not isinstance(given, bool) and 0 <= given <= 1:
        return float(given)
    return 1.0 if passed else 0.0


def _notes(given: Json) -> list[str]:
    listed = given if isinstance(given, list) else [given]
    texts = [note.strip()[:NOTE_LIMIT] for note in listed if isinstance(note, str) and note.strip()]
    return texts[:NOTES]
