"""Duplicates: calls of the same tool with the same arguments within a turn, and rounds that bring nothing new."""

from collections.abc import Sequence
from itertools import takewhile

from rota_contracts.json_values import same
from rota_contracts.messages.conversation import Round, ToolStatus, ToolUse, Turn
from rota_contracts.messages.execution import excerpt

QUOTED = 500
"""Characters of the first answer that the second is shown."""

WARN_AFTER, END_AFTER = 3, 6
"""Rounds in a row without anything new: then the model is warned, and then it gets no more tools."""

MADE = (ToolStatus.WAITING, ToolStatus.STARTED, ToolStatus.COMPLETED, ToolStatus.UNKNOWN)

NO_PROGRESS = "Your last {rounds} rounds of tools brought nothing new: the same calls, with the same results. "
WARNING = "Don't repeat them: try something else, or give your answer with what you have and say what is missing."
END = "So there are no more tools. Give your best answer to the task with what you have, and say what is missing."


def before(turn: Turn, use: ToolUse) -> list[ToolUse]:
    """The calls of a turn that stand before this one, and aren't about to be checked themselves."""
    uses = [each for made in turn.rounds for each in made.uses]
    ids = [each.step_id for each in uses]
    earlier = uses[: ids.index(use.step_id)] if use.step_id in ids else uses
    return [each for each in earlier if each.status is not ToolStatus.PENDING]


def duplicate(use: ToolUse, earlier: Sequence[ToolUse]) -> str:
    """What came of the same call the first time, if it was made; else empty."""
    first = next((each for each in earlier if is_same(each, use) and _was_made(each)), None)
    return "" if first is None else f"the same call was made in this turn already ({first.call_id}): {_result(first)}"


def is_same(one: ToolUse, other: ToolUse) -> bool:
    """By JSON equality: 42 is 42.0, and `true` is never 1."""
    return (one.name, one.server) == (other.name, other.server) and same(one.arguments, other.arguments)


def stalled_rounds(turn: Turn) -> int:
    """The last rounds of a turn that brought nothing new: each call of theirs had come to the same before."""
    seen: list[ToolUse] = []
    new = [_brings_new(each, seen) for each in turn.rounds]
    return len([*takewhile(lambda brought: not brought, reversed(new))])


def progress_note(stalled: int) -> str:
    """What the model is shown after so many rounds without anything new; empty at first."""
    if stalled < WARN_AFTER:
        return ""
    return NO_PROGRESS.format(rounds=stalled) + (WARNING if stalled < END_AFTER else END)


def _brings_new(made: Round, seen: list[ToolUse]) -> bool:
    brings = [use for use in made.uses if not any(_same_result(use, each) for each in seen)]
    seen += made.uses
    return bool(brings)


def _same_result(one: ToolUse, other: ToolUse) -> bool:
    """A call that was refused as a duplicate has, by that, no result of its own."""
    if not is_same(one, other):
        return False
    return not _was_made(one) or (one.status, one.output, one.error) == (other.status, other.output, other.error)


def _was_made(use: ToolUse) -> bool:
    """Also one that a person denied: it has waited."""
    return use.status in MADE or use.started_at is not None


def _result(use: ToolUse) -> str:
    if use.status is ToolStatus.COMPLETED and use.output is not None and use.output.inline is not None:
        return f"it answered: {excerpt(use.output.inline, QUOTED)}"
    if use.error is not None:
        return f"it failed: {excerpt(use.error, QUOTED)}"
    return "its answer stands above" if use.status is ToolStatus.COMPLETED else "it has no answer yet"
