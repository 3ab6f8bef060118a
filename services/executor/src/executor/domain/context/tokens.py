"""Estimates of tokens, from characters: four plain (ASCII) ones make a token, any other is a token by itself.

It is a rule of thumb for every model. What it underestimates, the provider reports as an overflow.
"""

import json
from collections.abc import Sequence

from executor.domain.conversation.chat import ChatMessage, Tool
from rota_contracts.messages.trigger import Message

CHARACTERS = 4
"""Plain characters of a token."""

PER_MESSAGE = 4
"""Tokens of a message beside its content, and of a call beside its name and arguments."""

PER_FILE = 1_600
"""Tokens of an image or another part of a message that isn't text."""


def tokens(text: str) -> int:
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return -(-plain // CHARACTERS) + len(text) - plain


def message_tokens(message: Message) -> int:
    content = message.content
    files = 0 if isinstance(content, str) else sum(part.get("type") != "text" for part in content)
    calls = message.tool_calls if isinstance(message, ChatMessage) else []
    called = sum(PER_MESSAGE + tokens(call.id + call.name + as_json(call.arguments)) for call in calls)
    beside = _beside(message) if isinstance(message, ChatMessage) else 0
    return PER_MESSAGE + tokens(message.text()) + PER_FILE * files + called + beside


def _beside(message: ChatMessage) -> int:
    """Tokens of what goes with a message: the call that it answers, and the reasoning behind its own calls."""
    thinking = tokens(message.thinking.model_dump_json()) if message.thinking is not None else 0
    return tokens(message.tool_call_id or "") + thinking


def conversation_tokens(messages: Sequence[Message]) -> int:
    return sum(map(message_tokens, messages))


def tool_tokens(tools: Sequence[Tool]) -> int:
    return sum(PER_MESSAGE + tokens(tool.name + tool.description + as_json(tool.parameters)) for tool in tools)


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
