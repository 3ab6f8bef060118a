"""The conversation of a task as a model reads it: turns, calls of tools and their results."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from executor.domain.conversation.chat import ChatMessage, Thinking, ToolCall
from executor.domain.skills import reads_skills
from rota_common.material import Frame, tagged
from rota_contracts.messages.conversation import Round, ToolStatus, ToolUse, Turn
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import Message

TOOL_LIMIT = 20_000
"""Characters of a tool's answer that a model is shown."""

NAME = 64
"""Characters of a call's id and of its tool's name, which the model has made up."""

CLOSING = (
    "You have used tools as often as you may (maximum tool iterations: {cap}). Use no more tools. "
    "Sum up what you have found and give your best answer to the task; say what is missing."
)

AGAIN = "Answer again, in the form that was asked for."
"""The last line to a model whose answer couldn't be used."""

Texts = Mapping[str, str]
"""Texts kept by reference, by the name of their object."""


def talk(turns: Sequence[Turn], texts: Texts, frame: Frame, *, limit: int | None = None) -> Iterator[Message]:
    """The messages of these turns, after the task itself. `limit`: characters of each."""
    for turn in turns:
        if turn.told:
            yield Message(role="user", content=_short(turn.told, limit))
        for each in turn.rounds:
            yield from in_round(each, texts, frame, limit=limit)
        if turn.output is not None:
            yield Message(role="assistant", content=_short(read(turn.output, texts), limit))


def _short(text: str, limit: int | None) -> str:
    return text if limit is None else excerpt(text, limit)


def read(text: Text, texts: Texts) -> str:
    if text.ref is None:
        return text.inline or ""
    return texts[text.ref.name]


def references(turns: Sequence[Turn]) -> Iterator[Text]:
    """The texts of these turns that are kept by reference."""
    for turn in turns:
        kept = [turn.output, *(each.thinking for each in turn.rounds)]
        kept += [use.output for each in turn.rounds for use in each.uses]
        yield from (text for text in kept if text is not None and text.ref is not None)


def in_round(each: Round, texts: Texts, frame: Frame, *, limit: int | None = None) -> Iterator[Message]:
    """A reply with calls of tools, and their results. These are material, but for skills: they are instructions of
    those who write the agents' prompts, too."""
    calls = [ToolCall(id=_id(use), name=use.name[:NAME], arguments=_arguments(use.arguments)) for use in each.uses]
    kept = each.thinking if limit is None else None  # it can't be shortened: its provider has signed it
    thinking = Thinking.model_validate_json(read(kept, texts)) if kept else None
    yield ChatMessage(role="assistant", content=_short(each.text, limit), tool_calls=calls, thinking=thinking)
    for use in each.uses:
        yield ChatMessage(role="tool", content=_shown(use, texts, frame, limit or TOOL_LIMIT), tool_call_id=_id(use))


def _id(use: ToolUse) -> str:
    return use.call_id[:NAME]


def _arguments(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _shown(use: ToolUse, texts: Texts, frame: Frame, limit: int) -> str:
    if reads_skills(use) and use.status is ToolStatus.COMPLETED:
        return tagged("skill", _answer(use, texts, limit))
    return frame.material("answer of a tool", _answer(use, texts, limit)) or "(an empty answer)"


def _answer(use: ToolUse, texts: Texts, limit: int) -> str:
    if use.status is ToolStatus.COMPLETED and use.output is not None:
        return excerpt(read(use.output, texts), limit)
    return excerpt(f"error: {use.error or 'no answer'}", limit)
