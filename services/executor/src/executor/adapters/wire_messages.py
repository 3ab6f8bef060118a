"""A prompt's messages in OpenAI's form, as every provider takes them: each id of a call once, no empty message, the
words of one side together."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from executor.agents.connectors import Connector
from executor.domain.conversation.chat import ChatMessage, Thinking, ToolCall
from rota_contracts.messages.trigger import Message

ID_LIMIT, NAME_LIMIT = 40, 64
"""Characters of a call's id, and of a tool's name, that OpenAI takes."""


@dataclass
class CallIds:
    """Ids of calls as they go out. Servers may give the same ones in each answer, and providers refuse what comes
    twice in a conversation, or has other characters than theirs."""

    _taken: set[str] = field(default_factory=set)
    _now: dict[str, str] = field(default_factory=dict)

    def new(self, call_id: str) -> str:
        fit = _fit(call_id, ID_LIMIT)
        made, number = fit, 1
        while made in self._taken:
            number += 1
            made = f"{fit[: ID_LIMIT - 6]}-{number}"
        self._taken.add(made)
        self._now[call_id] = made
        return made

    def of(self, call_id: str) -> str:
        """That of the newest call with this id."""
        return self._now.get(call_id, call_id)


def wire_messages(messages: Sequence[Message], connector: Connector) -> list[dict[str, Any]]:
    ids, made = CallIds(), list[dict[str, Any]]()
    for message in messages:
        shown = _shown(message, connector, ids)
        if not shown["content"] and not shown.get("tool_calls"):
            continue
        if made and _joins(made[-1], shown):
            made[-1] = made[-1] | {"content": _together(made[-1]["content"], shown["content"])}
        else:
            made.append(shown)
    return made


def _joins(before: dict[str, Any], message: dict[str, Any]) -> bool:
    """Many models of open servers take a strict change of user and assistant alone."""
    plain = before.keys() == message.keys() == {"role", "content"}
    return plain and before["role"] == message["role"] and message["role"] in ("user", "assistant")


def _together(before: Any, after: Any) -> Any:
    if isinstance(before, str) and isinstance(after, str):
        return f"{before}\n\n{after}"
    return [*_parts(before), *_parts(after)]


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _shown(message: Message, connector: Connector, ids: CallIds) -> dict[str, Any]:
    made: dict[str, Any] = {"role": message.role, "content": message.content}
    if not isinstance(message, ChatMessage):
        return made
    if message.tool_calls:
        made |= dict(_thinking(message.thinking, connector))
        made["tool_calls"] = [_call(call, ids) for call in message.tool_calls]
    if message.tool_call_id is not None:
        made["tool_call_id"] = ids.of(message.tool_call_id)
    return made


def _call(call: ToolCall, ids: CallIds) -> dict[str, Any]:
    """The arguments of a call are JSON text. A name that a model made up may have any characters."""
    arguments, name = json.dumps(call.arguments, ensure_ascii=False), _fit(call.name, NAME_LIMIT)
    return {"id": ids.new(call.id), "type": "function", "function": {"name": name, "arguments": arguments}}


def _fit(text: str, limit: int) -> str:
    """With letters, digits, _ and - alone, as providers take ids and names."""
    fit = "".join(each if each.isascii() and (each.isalnum() or each in "_-") else "_" for each in text)
    return fit[:limit] or "call"


def _thinking(given: Thinking | None, connector: Connector) -> Iterator[tuple[str, Any]]:
    """Only for the model that made it: others refuse a signature or a field that they don't know."""
    if given is None or given.model != connector.model:
        return
    if given.blocks and connector.type == "anthropic":
        yield "thinking_blocks", given.blocks
    elif given.reasoning and connector.type == "openai":
        yield "reasoning_content", given.reasoning
