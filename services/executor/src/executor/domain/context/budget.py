"""The budget of a prompt: no part of it, of whatever origin, makes a prompt that its model can't take.

A prompt that fits is left as it is. Of one that doesn't, these are cut in turn until it does, each only as far as
needed: material in the order of `SHED`, the oldest rounds of the conversation, the first message, the system message,
and what is left of the conversation. The shares are what each keeps at least, if it has as much.
"""

from collections.abc import Sequence
from dataclasses import replace

from executor.domain.context.cut import LEFT_OUT, cut_material, cut_messages
from executor.domain.context.history import prepared
from executor.domain.context.tokens import PER_MESSAGE, conversation_tokens, message_tokens, tool_tokens
from executor.domain.conversation.chat import Tool, properties
from rota_contracts.messages.trigger import Message

DEFAULT_WINDOW, LEAST_WINDOW = 200_000, 1_000
"""Tokens: of a connector that names none, and what no connector goes below."""

SYSTEM, TOOLS, FIRST, HISTORY = 0.20, 0.25, 0.20, 0.25
"""Shares of the window; the rest is the answer's."""

COMPACT_AT = 0.75
"""The share of the window from which a conversation is compacted."""

SHED = (
    "found by search",
    "lessons of earlier runs",
    "knowledge of the team",
    "since then",
    "pending",
    "results so far",
    "done already",
    "results",
    "plan",
    "report",
    "data",
    "event",
)
"""The names of material in prompts, in the order in which it is cut; the request itself comes after."""

LEAST_MESSAGES = 4
DESCRIPTION = 200
"""Characters of a tool's description where tools take more than their share."""


def window_of(given: int) -> int:
    """The window that a connector's setting means."""
    return DEFAULT_WINDOW if given <= 0 else max(given, LEAST_WINDOW)


def limit_of(window: int) -> int:
    """Tokens of the longest prompt."""
    return int(window * SYSTEM) + int(window * TOOLS) + int(window * FIRST) + int(window * HISTORY)


def fit_tools(tools: Sequence[Tool], window: int) -> Sequence[Tool]:
    """The tools within their share: descriptions are shortened, then the arguments lose theirs, then the last tools
    are left out."""
    allowed = int(window * TOOLS)
    if tool_tokens(tools) <= allowed:
        return tools
    tools = [replace(tool, description=tool.description[:DESCRIPTION]) for tool in tools]
    if tool_tokens(tools) > allowed:
        tools = [replace(tool, parameters=_bare(tool.parameters)) for tool in tools]
    while tool_tokens(tools) > allowed:
        tools = tools[:-1]
    return tools


def _bare(schema: dict[str, object]) -> dict[str, object]:
    """A schema with the names of arguments alone."""
    return {"type": "object", "properties": {str(name): {} for name in properties(schema)}}


def fit(messages: Sequence[Message], tools: Sequence[Tool], *, window: int, mark: str = "") -> list[Message]:
    """The messages, within the window together with `tools`, which `fit_tools` has seen. `mark`: of the frame of their
    material."""
    system, first, rest = _parts(messages)
    around = conversation_tokens([*system, *first]) + tool_tokens(tools)
    rest = prepared(rest, window=window, around=around)
    excess = around + conversation_tokens(rest) - limit_of(window)
    if excess > 0:
        first = _shed(first, mark, excess)
        rest = _newest(rest, _allowed(rest, [*system, *first], tools, window=window, share=HISTORY))
        first = _first(first, _allowed(first, [*system, *rest], tools, window=window, share=FIRST))
        allowed = _allowed(system, [*first, *rest], tools, window=window, share=SYSTEM)
        system = cut_messages(system, allowed)
        rest = _within(rest, _allowed(rest, [*system, *first], tools, window=window, share=HISTORY))
    return [*system, *first, *rest]


def crowded(messages: Sequence[Message], tools: Sequence[Tool], *, window: int, share: float = COMPACT_AT) -> bool:
    """Does the conversation, as it is without pruning, take the prompt beyond `share` of the window?"""
    system, first, rest = _parts(messages)
    around = min(conversation_tokens(system), int(window * SYSTEM)) + min(
        conversation_tokens(first), int(window * FIRST)
    )
    return bool(rest) and around + tool_tokens(tools) + conversation_tokens(rest) >= share * window


def _parts(messages: Sequence[Message]) -> tuple[list[Message], list[Message], list[Message]]:
    """The system message, what stands before the first answer, and the conversation from there on."""
    begins = next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))
    answers = (n for n, message in enumerate(messages) if n >= begins and message.role not in ("system", "user"))
    ends = next(answers, len(messages))
    return list(messages[:begins]), list(messages[begins:ends]), list(messages[ends:])


def _allowed(
    part: Sequence[Message], others: Sequence[Message], tools: Sequence[Tool], *, window: int, share: float
) -> int:
    """What a part may take: all that the others leave, and its share in any case."""
    left = limit_of(window) - conversation_tokens(others) - tool_tokens(tools)
    return min(conversation_tokens(part), max(left, int(window * share)))


def _shed(messages: Sequence[Message], mark: str, excess: int) -> list[Message]:
    made = list(messages)
    for name in SHED if mark else ():
        for index, message in enumerate(made):
            if excess > 0 and isinstance(message.content, str):
                made[index] = message.model_copy(update={"content": cut_material(message.content, mark, name, excess)})
                excess -= message_tokens(message) - message_tokens(made[index])
    return made


def _newest(messages: Sequence[Message], allowed: int) -> list[Message]:
    """The newest rounds that are allowed, and four messages in any case."""
    begins = [n for n, message in enumerate(messages) if message.role != "tool"]
    fitting = (n for n in begins if conversation_tokens(messages[n:]) <= allowed)
    least = next((n for n in reversed(begins) if len(messages) - n >= LEAST_MESSAGES), 0)
    return list(messages[min(next(fitting, len(messages)), least) :])


def _within(messages: Sequence[Message], allowed: int) -> list[Message]:
    """A window that is too small for the names of the last calls gets none of them."""
    made = cut_messages(messages, allowed)
    return made if conversation_tokens(made) <= allowed else [Message(role="user", content=LEFT_OUT)]


def _first(messages: Sequence[Message], allowed: int) -> list[Message]:
    """Of more messages than there is room for, the first are left out."""
    return cut_messages(list(messages)[-max(1, allowed // (2 * PER_MESSAGE)) :], allowed)
