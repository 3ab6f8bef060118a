"""Calls of tools and their results as text, for models without calls of their own."""

import json
from collections.abc import Iterator, Sequence

from executor.domain.conversation.chat import ChatMessage, ToolCall
from rota_contracts.messages.trigger import Message


def as_text(messages: Sequence[Message]) -> list[Message]:
    """The same messages with calls and results in their text; the results that answer one reply are one message."""
    made: list[Message] = []
    results: list[str] = []
    for message in messages:
        if message.role == "tool":
            results.append(_result(message))
            continue
        made += _shown(results)
        results = []
        made.append(_plain(message))
    return [*made, *_shown(results)]


def _shown(results: Sequence[str]) -> Iterator[Message]:
    if results:
        yield Message(role="user", content="\n".join(results))


def _plain(message: Message) -> Message:
    if not isinstance(message, ChatMessage) or not message.tool_calls:
        return message
    calls = [_call(call) for call in message.tool_calls]
    return Message(role=message.role, content="\n".join(filter(None, [message.text(), *calls])))


def _call(call: ToolCall) -> str:
    """In the form that is asked for, which is read from a reply as well."""
    return f"<tool_call>{json.dumps({'name': call.name, 'arguments': call.arguments}, ensure_ascii=False)}</tool_call>"


def _result(message: Message) -> str:
    return f"<tool_result>\n{message.text()}\n</tool_result>"
