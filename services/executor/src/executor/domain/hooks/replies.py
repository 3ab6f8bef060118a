"""A call after a hook's reply: the next hook of the chain sees it so, and after the last it holds."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from executor.domain.hooks.messages import STORED, UnusableReply, merged
from rota_contracts.json_values import shown as shown_value
from rota_contracts.json_values import unstorable
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.hook import HookCall, HookMessage, HookPoint, HookReply
from rota_contracts.messages.text import INLINE_LIMIT

R = TypeVar("R", bound=BaseModel)

MESSAGES_LIMIT = 2 * INLINE_LIMIT
"""Bytes of the messages that a hook returns."""

PROBLEM = 300
"""Characters of a problem with a reply."""

TAKEN = {
    HookPoint.BEFORE_LLM_CALL: frozenset({"messages", "model"}),
    HookPoint.BEFORE_TOOL_CALL: frozenset({"name", "arguments"}),
    HookPoint.AFTER_TOOL_CALL: frozenset[str](),
}
"""The fields of a reply that change something at a point."""


def parse_reply(text: str, kind: type[R]) -> R:
    """The reply of a process; an empty one, or null, continues. Raises UnusableReply."""
    try:
        value: Any = json.loads(text) if text.strip() else None
    except (ValueError, RecursionError) as error:
        raise UnusableReply(f"expected a reply in JSON, got {excerpt(text, 80)!r}") from error
    if value is None:
        return kind()
    if not isinstance(value, dict):
        raise UnusableReply(f"expected a JSON object with an action, got {shown_value(value)}")
    if problem := unstorable(value):
        raise UnusableReply(f"the reply can't be stored: {problem}")
    try:
        return kind.model_validate(value, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UnusableReply(excerpt(f"{where}: {first['msg']}", PROBLEM)) from error


def changed(call: HookCall, reply: HookReply) -> HookCall:
    """The call with what the reply changes. Raises UnusableReply."""
    given = {name for name in ("messages", "model", "name", "arguments") if getattr(reply, name) is not None}
    if odd := sorted(given - TAKEN[call.point]):
        taken = ", ".join(sorted(TAKEN[call.point])) or "nothing"
        raise UnusableReply(f"a hook {call.point} changes {taken}, not {', '.join(odd)}")
    update: dict[str, Any] = {}
    if reply.messages is not None:
        update["messages"] = messages_of(call.messages, reply.messages)
    if reply.model is not None:
        update["model"] = reply.model
    if call.tool is not None and (reply.name is not None or reply.arguments is not None):
        update["tool"] = _tool_changed(call, reply)
    return call.model_copy(update=update) if update else call


def messages_of(shown: Sequence[HookMessage], given: Sequence[HookMessage]) -> list[HookMessage]:
    """The messages after a reply with these, within their limit. Raises UnusableReply."""
    made = merged(shown, given)
    _within(len(STORED.dump_json(made)), MESSAGES_LIMIT, "messages")
    return made


def _tool_changed(call: HookCall, reply: HookReply) -> Any:
    assert call.tool is not None
    arguments = call.tool.arguments if reply.arguments is None else reply.arguments
    if type(arguments) is not type(call.tool.arguments):
        wanted = "a list" if isinstance(call.tool.arguments, list) else "an object"
        raise UnusableReply(f"expected {wanted} as arguments, got {shown_value(arguments)}")
    _within(len(json.dumps(arguments).encode()), INLINE_LIMIT, "arguments")
    return call.tool.model_copy(update={"name": reply.name or call.tool.name, "arguments": arguments})


def _within(size: int, limit: int, what: str) -> None:
    if size > limit:
        raise UnusableReply(f"expected {what} of at most {limit} bytes, got {size}")
