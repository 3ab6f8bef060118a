"""The history of a conversation as a model is sent it: its last turns, pruned, with calls and results in pairs."""

from collections.abc import Sequence

from executor.domain.context.prune import prune
from executor.domain.conversation.chat import ChatMessage
from rota_contracts.messages.trigger import Message

MISSING = "[Tool result missing -- session was compacted]"


def prepared(history: Sequence[Message], *, window: int, around: int = 0, turns: int = 0) -> list[Message]:
    """The three stages in their order: limit, prune, repair; then neighbours of one role are merged.

    `window` and `around` in tokens: what the model takes, and what it is sent beside the history. `turns`: of users, to
    keep; 0 = all.
    """
    kept = prune(limit_turns(history, turns), window=window, around=around)
    return merged(sanitise_history(kept))


def limit_turns(history: Sequence[Message], limit: int) -> list[Message]:
    """The last `limit` turns of users, each with all that belongs to it; all of them for 0 and less."""
    begins = [index for index, message in enumerate(history) if message.role == "user"]
    return list(history[begins[-limit] :]) if 0 < limit < len(begins) else list(history)


def sanitise_history(history: Sequence[Message]) -> list[Message]:
    """Each call with one result, in the order of the calls, and no result without its call.

    A result at the wrong place is dropped; one that is missing is made up, and says so.
    """
    made: list[Message] = []
    index = 0
    while index < len(history):
        message = history[index]
        index += 1
        if message.role == "tool":
            continue
        made.append(message)
        if isinstance(message, ChatMessage) and message.tool_calls:
            end = next((n for n in range(index, len(history)) if history[n].role != "tool"), len(history))
            made += _results(message, history[index:end])
            index = end
    return made


def _results(asked: ChatMessage, given: Sequence[Message]) -> list[Message]:
    left = [message for message in given if isinstance(message, ChatMessage)]
    made: list[Message] = []
    for call in asked.tool_calls:
        found = next((message for message in left if message.tool_call_id == call.id), None)
        if found is not None:
            left.remove(found)
        made.append(found or ChatMessage(role="tool", content=MISSING, tool_call_id=call.id))
    return made


def merged(history: Sequence[Message]) -> list[Message]:
    """Neighbours of one role as one message; results stay apart, and so does what calls for them."""
    made: list[Message] = []
    for message in history:
        last = made[-1] if made else None
        if last is None or last.role != message.role or message.role == "tool" or getattr(last, "tool_calls", None):
            made.append(message)
        else:
            made[-1] = message.model_copy(update={"content": _both(last, message)})
    return made


def _both(one: Message, other: Message) -> object:
    if isinstance(one.content, str) and isinstance(other.content, str):
        return "\n\n".join(text for text in (one.content, other.content) if text)
    return [*_parts(one), *_parts(other)]


def _parts(message: Message) -> list[object]:
    content = message.content
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
