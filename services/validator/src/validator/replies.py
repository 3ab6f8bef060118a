"""Replies: the feedback that starts an assistant's next turn."""

from collections.abc import Sequence

from rota_contracts.messages.validation import Conversation, ValidationResult

LISTED = 20
"""Issues, and suggestions, in one reply."""

GO_ON = "What you have done is good, but it isn't all of it. Go on, and answer with the whole result."


def with_reply(verdict: ValidationResult, talk: Conversation, *, own: str = "") -> ValidationResult:
    """The verdict, with a reply if it isn't complete and there may be another turn: never for a single call.

    `own` is a reply in the validation agent's own words, a question for example; it replaces the feedback.
    """
    if verdict.complete or not talk.goes_on:
        return verdict
    reply = own or (GO_ON if verdict.passed else feedback(verdict, talk))
    return verdict.model_copy(update={"need_reply": True, "reply_content": reply})


def feedback(verdict: ValidationResult, talk: Conversation) -> str:
    """What is wrong and what to do, for a model to act on."""
    wrong = _listed([f"{number}. {issue}" for number, issue in enumerate(verdict.issues, 1)])
    advice = _listed([f"- {suggestion}" for suggestion in verdict.suggestions])
    parts = [
        f"Your result was checked and doesn't pass (turn {talk.turn} of {talk.max_turns}).",
        f"What is wrong:\n{wrong}" if wrong else "",
        f"What to do:\n{advice}" if advice else "",
        "Answer with the whole result, corrected; what was right in it stays.",
    ]
    return "\n\n".join(part for part in parts if part)


def _listed(lines: Sequence[str]) -> str:
    more = [f"… and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
    return "\n".join([*lines[:LISTED], *more])
