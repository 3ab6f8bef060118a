"""Verdicts of agents, and the one verdict over both layers."""

from collections.abc import Sequence

from rota_common.json_text import every_json
from rota_contracts.messages.agent import AgentReply
from rota_contracts.messages.validation import Assertion, Conversation, ValidationResult
from rota_contracts.model import Json
from validator.domain import wish_of
from validator.prompts import ANSWER, REPLY
from validator.registry import Kinds
from validator.replies import with_reply

NOTES, NOTE_LIMIT, DETAILS_LIMIT = 20, 1000, 20_000
"""How many issues and suggestions are kept, and how many characters of each and of the details."""

FORM = " ".join(f"{ANSWER}\n{REPLY}".lower().split())
"""The words of the form; what repeats them says nothing."""


class NoVerdict(Exception):
    """An agent returned no verdict; the message is the reason."""


class Unreadable(NoVerdict):
    """The answer isn't in the form asked for; the message says what was expected, for another try."""


def read_verdict(answer: AgentReply, threshold: float, check: str) -> ValidationResult:
    """The one verdict in an agent's answer that repeats `check`: any other is quoted. It passes with `passed` true and
    a score of at least `threshold`.

    Raises NoVerdict."""
    if answer.error:
        raise NoVerdict(f"the validation agent {answer.agent_id} failed: {answer.error}")
    found = every_json(answer.content) or [answer.response]
    own = [each for each in found if isinstance(each, dict) and str(each.get("check")).strip() == check]
    if any(each != own[0] for each in own):
        raise _unreadable(answer, f'one JSON object with "check": "{check}"', "several that differ")
    if not own:
        raise _unreadable(answer, f'a JSON object with "check": "{check}" and "passed" true or false')
    if not isinstance(own[0].get("passed"), bool):
        raise _unreadable(answer, 'a JSON object with "passed" true or false')
    return _read(own[0], _score(answer, own[0].get("score")), threshold)


def _unreadable(answer: AgentReply, wanted: str, got: str = "") -> Unreadable:
    return Unreadable(f"expected {wanted} of the validation agent {answer.agent_id}, got: {got or shown(answer)}")


def shown(answer: AgentReply) -> str:
    return repr(answer.content[:200])


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
    """Passed if all layers are, with the lowest score, and with a reply for the next turn if there is one. What is
    passed is complete unless an agent says that more is to come.

    Agents that fail the output may bring replies of their own. If all failed layers have one, the reply is these;
    otherwise it is the feedback over all issues, with these among the suggestions.
    """
    score = min((layer.score for layer in layers), default=1.0)
    passed = all(layer.passed for layer in layers) and score >= threshold
    complete = passed and all(layer.complete for layer in layers)
    open_layers = [layer for layer in layers if not (layer.complete if passed else layer.passed)]
    replies = [layer.reply_content for layer in open_layers if layer.reply_content]
    own_words = len(replies) == len(open_layers)
    issues = [issue for layer in layers for issue in layer.issues]
    result = ValidationResult(
        passed=passed,
        score=score,
        issues=issues if passed or issues else [_too_low(score, threshold)],
        suggestions=[note for layer in layers for note in layer.suggestions] + ([] if own_words else replies),
        details="\n\n".join(layer.details for layer in layers if layer.details),
        complete=complete,
    )
    return with_reply(result, talk, own="\n\n".join(replies) if own_words or passed else "")


def _read(answer: dict[str, Json], score: float, threshold: float) -> ValidationResult:
    agreed = answer["passed"] is True
    passed = agreed and score >= threshold
    issues = _notes(answer.get("issues"))
    if agreed and not passed:
        issues.append(_too_low(score, threshold))
    if not passed and not issues:
        issues.append("the validation agent found that the output doesn't do what was asked, and didn't say why")
    details = answer.get("details")
    more = answer.get("complete") is False and (answer.get("need_reply") is True or bool(_reply(answer)))
    complete = passed and not more
    return ValidationResult(
        passed=passed,
        score=score,
        issues=issues,
        suggestions=_notes(answer.get("suggestions")),
        details=details[:DETAILS_LIMIT] if isinstance(details, str) else "",
        complete=complete,
        reply_content="" if complete else _reply(answer),
    )


def _reply(answer: dict[str, Json]) -> str:
    """The agent's own reply to the author, unless its `need_reply` is false."""
    content = answer.get("reply_content")
    wanted = isinstance(content, str) and _is_own(content) and answer.get("need_reply") is not False
    return str(content).strip()[:DETAILS_LIMIT] if wanted else ""


def _is_own(note: str) -> bool:
    """Is it said, and not just copied from the form?"""
    return bool(note.strip()) and not (len(words := note.lower().split()) > 2 and " ".join(words) in FORM)


def _too_low(score: float, threshold: float) -> str:
    return f"the score is {score:g}; at least {threshold:g} passes"


def _score(answer: AgentReply, given: Json) -> float:
    if isinstance(given, (int, float)) and not isinstance(given, bool) and 0 <= given <= 1:
        return float(given)
    raise _unreadable(answer, '"score" as a number from 0 to 1')


def _notes(given: Json) -> list[str]:
    listed = given if isinstance(given, list) else [given]
    texts = [note.strip()[:NOTE_LIMIT] for note in listed if isinstance(note, str) and _is_own(note)]
    return texts[:NOTES]
