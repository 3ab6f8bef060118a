"""The turn of an agent that is called without a run: what a crash left of it, and what its caller learns. Pure."""

from collections.abc import Iterator
from datetime import datetime

from executor.domain.conversation import loop
from rota_contracts.messages.agent import CalledTool
from rota_contracts.messages.conversation import ToolStatus, ToolUse, Turn

ROOM = 4_000_000
"""Characters of a turn's JSON after which its agent gets no more tools: it is kept in one document."""

NO_PERSON = (
    "it needs a person's approval ({}), and a call without a run has none to ask; say what is to be done instead"
)


def resumed(turn: Turn, *, at: datetime) -> tuple[Turn, frozenset[str]]:
    """The turn as another replica goes on with it, and the step ids of the calls that it makes once more: those that
    had begun and are idempotent. The outcome of others is unknown."""
    begun = [use for use in _uses(turn) if use.status is ToolStatus.STARTED]
    again = frozenset(use.step_id for use in begun if use.idempotent)
    turn = loop.put_back(turn, [*again])
    return loop.mark_unknown(turn, [use.step_id for use in begun if use.step_id not in again], at=at), again


def called(turn: Turn) -> list[CalledTool]:
    """What the caller learns of the calls: no arguments, no answers."""
    return [CalledTool(name=use.name, status=use.status) for use in _uses(turn)]


def is_full(turn: Turn) -> bool:
    return len(turn.model_dump_json()) > ROOM


def _uses(turn: Turn) -> Iterator[ToolUse]:
    return (use for each in turn.rounds for use in each.uses)
