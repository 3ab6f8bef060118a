"""Cuts in texts and messages, each marked where it is, to an estimated number of tokens."""

import re
from collections.abc import Sequence
from typing import Any

from executor.domain.context.tokens import CHARACTERS, PER_MESSAGE, as_json, message_tokens, tokens
from executor.domain.conversation.chat import ChatMessage
from rota_contracts.messages.trigger import Message

LEFT_OUT = "[left out: it doesn't fit into the context]"
MARK = "\n[… {count} characters left out, which don't fit into the context]\n"
LEAST = 40
"""Tokens of a cut text that still says something."""

HEAD = 0.6
"""The share of what is kept that stands before the cut."""


def cut(text: str, allowed: int) -> str:
    """The beginning and the end of a text, of `allowed` tokens together; `LEFT_OUT` where that says nothing."""
    whole = tokens(text)
    if whole <= allowed:
        return text
    if allowed < LEAST:
        return LEFT_OUT if tokens(LEFT_OUT) <= allowed else ""
    kept = len(text) * max(0, allowed - tokens(MARK.format(count=len(text)))) // whole
    while True:
        head = int(kept * HEAD)
        tail = kept - head
        made = text[:head] + MARK.format(count=len(text) - kept) + (text[-tail:] if tail else "")
        if tokens(made) <= allowed:
            return made
        kept = kept * 9 // 10 if kept > CHARACTERS else 0


def cut_messages(messages: Sequence[Message], allowed: int) -> list[Message]:
    """The messages with `allowed` tokens together, as far as that can be: the longest are cut, all to one length.

    Roles, names and ids of calls stay.
    """
    floors = [message_tokens(_bare(message)) for message in messages]
    sizes = [message_tokens(message) - floor for message, floor in zip(messages, floors, strict=True)]
    level = _level(sizes, allowed - sum(floors))
    return [
        message if size <= level else _cut_message(message, level)
        for message, size in zip(messages, sizes, strict=True)
    ]


def _level(sizes: Sequence[int], allowed: int) -> int:
    """The length to which all are cut that are longer, so that they take `allowed` together."""
    left = max(0, allowed)
    for number, size in enumerate(sorted(sizes)):
        level = left // (len(sizes) - number)
        if size > level:
            return level
        left -= size
    return max(sizes, default=0)


def _bare(message: Message) -> Message:
    if not isinstance(message, ChatMessage):
        return message.model_copy(update={"content": ""})
    return _with_arguments(message.model_copy(update={"content": "", "thinking": None}), 0)


def _cut_message(message: Message, allowed: int) -> Message:
    """`allowed`: tokens of its text and the arguments of its calls. Files, and the
    reasoning before its calls, are left out before its text is cut."""
    bare = message_tokens(_bare(message))
    if not isinstance(message.content, str):
        message = message.model_copy(update={"content": f"{LEFT_OUT}\n{message.text()}"})
    if isinstance(message, ChatMessage) and message.tool_calls:
        message = _with_arguments(message.model_copy(update={"thinking": None}), allowed // 2)
    around = message_tokens(message) - tokens(message.text())
    return message.model_copy(update={"content": cut(message.text(), max(0, bare + allowed - around))})


def _with_arguments(message: ChatMessage, allowed: int) -> ChatMessage:
    """A message with shorter arguments of its calls, where they take more than `allowed` together."""
    if not message.tool_calls:
        return message
    each = allowed // len(message.tool_calls)
    calls = [
        call
        if tokens(shown := as_json(call.arguments)) <= each
        else call.model_copy(update={"arguments": _shorter(shown, each)})
        for call in message.tool_calls
    ]
    return message.model_copy(update={"tool_calls": calls})


def _shorter(shown: str, allowed: int) -> dict[str, Any]:
    text = cut(shown, max(0, allowed // 2 - PER_MESSAGE))  # quotes and line ends are escaped once more
    return {"left_out": text} if text else {}


def cut_material(text: str, mark: str, name: str, excess: int) -> str:
    """The text with `excess` tokens less, if the material of this name in the frame `mark` has as many."""
    found = re.search(
        rf'(<material-{re.escape(mark)} name="{re.escape(name)}">\n)(.*?)(\n</material-{re.escape(mark)}>)', text, re.S
    )
    if found is None:
        return text
    opened, inside, closed = found.groups()
    shorter = cut(inside, max(tokens(LEFT_OUT), tokens(inside) - excess))
    return f"{text[: found.start()]}{opened}{shorter}{closed}{text[found.end() :]}"
