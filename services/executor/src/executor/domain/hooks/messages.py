"""The messages of a prompt as hooks are shown them, and the prompt that is made of those that come back.

A message is known by its content, not by its place: a prompt that is built for another model may be cut elsewhere.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from pydantic import TypeAdapter

from executor.domain.conversation.chat import ChatMessage, ToolCall, whole_characters
from rota_contracts.messages.hook import HookMessage, ShownCall
from rota_contracts.messages.trigger import Message

STORED = TypeAdapter(list[HookMessage])
ID = 16


class UnusableReply(ValueError):
    """A hook's reply can't be used; the text says what was expected, and what came."""


def shown(messages: Iterable[Message]) -> list[HookMessage]:
    """Texts and calls; of pictures and files the kinds alone, and no reasoning."""
    return [_shown(message, id) for id, message in _named(messages)]


def merged(before: Sequence[HookMessage], given: Sequence[HookMessage]) -> list[HookMessage]:
    """The messages after a hook's reply. Raises UnusableReply."""
    known = {message.id: message for message in before}
    kept = [message.id for message in given if message.id]
    if twice := next((id for id in kept if kept.count(id) > 1), None):
        raise UnusableReply(f"expected each message once, got {twice} twice")
    made = [_kept(known, each) if each.id else _new(place, each) for place, each in enumerate(given)]
    if not any(message.role == "user" for message in made):
        raise UnusableReply("expected at least one message of the role user among messages")
    return made


def restored(messages: Iterable[Message], changed: Iterable[HookMessage]) -> list[Message]:
    """The prompt of the messages that hooks left, with the pictures and the reasoning of those in `messages`."""
    known = dict(_named(messages))
    return [_with_text(known[each.id], each.text) if each.id in known else _made(each) for each in changed]


def rewritten(
    messages: Sequence[Message], shown: Sequence[HookMessage], changed: Sequence[HookMessage]
) -> list[Message]:
    """`messages` as a hook left those that it was `shown`, `changed`. They may be a later prompt of the same turn: its
    further messages stay, and new ones of the hook stand behind the one that they stood behind."""
    named = list(_named(messages))
    ids, before = [id for id, _ in named], {message.id: message for message in shown}
    if ids == [*before]:
        return restored(messages, changed)
    if named and shown and named[0][1].role == shown[0].role == "system" and ids[0] not in before:
        ids[0] = shown[0].id  # it says the time, or names another model
    kept = {message.id: message for message in changed if message.id in before}
    new, place = dict[str, list[Message]](), ""
    for each in changed:
        if each.id not in before:
            new.setdefault(place, []).append(_made(each))
        elif each.id in ids:
            place = each.id
    made = new.pop("", [])
    for id, (_, message) in zip(ids, named, strict=True):
        if id not in before or id in kept:
            text = kept[id].text if id in kept and kept[id].text != before[id].text else None
            made += [_with_text(message, text), *new.get(id, [])]
    return made


def _named(messages: Iterable[Message]) -> Iterable[tuple[str, Message]]:
    seen: dict[str, int] = {}
    for message in messages:
        digest = sha256(message.model_dump_json().encode()).hexdigest()[:ID]
        seen[digest] = seen.get(digest, 0) + 1
        yield (digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"), message


def _shown(message: Message, id: str) -> HookMessage:
    chat = message if isinstance(message, ChatMessage) else ChatMessage(role=message.role, content=message.content)
    calls = [ShownCall(id=call.id, name=call.name, arguments=call.arguments) for call in chat.tool_calls]
    parts = [] if isinstance(message.content, str) else message.content
    other = [str(part.get("type", "")) for part in parts if part.get("type") != "text"]
    return HookMessage(
        id=id, role=message.role, text=message.text(), calls=calls, call_id=chat.tool_call_id or "", other=other
    )


def _kept(known: dict[str, HookMessage], given: HookMessage) -> HookMessage:
    message = known.get(given.id)
    if message is None:
        raise UnusableReply(f"expected the id of a message that was shown, or none for a new one, not {given.id!r}")
    return message if given.text is None else message.model_copy(update={"text": whole_characters(given.text)})


def _new(place: int, given: HookMessage) -> HookMessage:
    """With an id, by which the hooks behind know it."""
    if given.role == "tool" or given.calls or given.call_id or not (given.text or "").strip():
        raise UnusableReply("expected a new message with a text, of the role system, user or assistant, without calls")
    text = whole_characters(given.text or "")
    digest = sha256(text.encode()).hexdigest()[:ID]
    return HookMessage(id=f"new-{place}-{digest}", role=given.role, text=text)


def _with_text(message: Message, text: str | None) -> Message:
    if text is None or text == message.text():
        return message
    if isinstance(message.content, str):
        return message.model_copy(update={"content": text})
    other = [part for part in message.content if part.get("type") != "text"]
    return message.model_copy(update={"content": [*([{"type": "text", "text": text}] if text else []), *other]})


def _made(given: HookMessage) -> Message:
    calls = [ToolCall(id=call.id, name=call.name, arguments=call.arguments) for call in given.calls]
    return ChatMessage(role=given.role, content=given.text or "", tool_calls=calls, tool_call_id=given.call_id or None)
