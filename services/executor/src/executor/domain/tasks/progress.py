"""The progress of a task over its turns: when further ones are no use, and which result was the best."""

from collections.abc import Sequence

from rota_contracts.messages.conversation import Turn
from rota_contracts.messages.execution import TaskResult
from rota_contracts.messages.text import Text


def standstill(before: Sequence[Turn], turn: Turn) -> str:
    """Why a further turn is no use: the output or the verdict is that of the turn before; else empty."""
    last = next((each for each in before if each.number == turn.number - 1), None)
    if last is None or last.validation is None or turn.validation is None:
        return ""
    if _same_text(last.output, turn.output):
        return "the last two results are the same"
    one, other = last.validation, turn.validation
    same = (one.score, one.issues) == (other.score, other.issues) and bool(one.issues)
    return "the last two verdicts are the same" if same else ""


def best_turn(turns: Sequence[Turn]) -> Turn | None:
    """The judged turn with the best score; of several, the latest."""
    judged = [turn for turn in turns if turn.validation is not None and turn.output is not None]
    return max(judged, key=lambda turn: (turn.validation.score if turn.validation else 0.0, turn.number), default=None)


def with_best(result: TaskResult) -> TaskResult:
    """A result that wasn't accepted, with its best turn's output and verdict in place of the last one's."""
    best = best_turn(result.turns)
    if best is None:
        return result
    return result.model_copy(update={"output": best.output, "validation": best.validation})


def refusal(result: TaskResult, why: str) -> str:
    """The reason of a result that wasn't accepted: what is wrong with its best turn."""
    best, number = best_turn(result.turns), len(result.turns)
    issues = best.validation.issues if best is not None and best.validation is not None else []
    reason = "; ".join(issues) or "the result was not accepted"
    turns = f" (after {number} turns{f', as {why}' if why else ''})" if number > 1 else ""
    return f"{reason}{turns}"


def after_turns(reason: str, number: int) -> str:
    return f"{reason} (after {number} turns)" if number > 1 else reason


def _same_text(one: Text | None, other: Text | None) -> bool:
    if one is None or other is None:
        return False
    if one.inline is not None and other.inline is not None:
        return one.inline.strip() == other.inline.strip()
    return one == other
