"""A model's reply against its prompt: what it only repeats is stored with it, for replays, which have no prompt."""

from collections.abc import Sequence

from executor.domain.answers.forms import echoes
from executor.domain.answers.reasoning import split_reasoning
from executor.domain.answers.sanitise import FRAME
from executor.domain.answers.understand import with_quoted
from executor.domain.conversation.chat import ModelReply, Tool
from rota_contracts.messages.trigger import Message

ASKS_A_PERSON = ("question",)
"""The fields of a form that an assistant's result may take; everything else in a result is its own."""

LONG_LINE, REPEATED_LINES = 60, 3
"""Characters of a line, and lines, that make a text a repetition of its prompt."""


def in_context(
    reply: ModelReply, messages: Sequence[Message], tools: Sequence[Tool] = (), *, fields: Sequence[str] | None = None
) -> ModelReply:
    """The reply, with its calls that stand in what others wrote, and with what it copied of the system's own examples,
    in any field or in these `fields`."""
    written = [message.text() for message in messages if message.role in ("user", "tool")]
    reply = with_quoted(reply, tools, written)
    prompt = "\n".join(message.text() for message in messages if message.role == "system")
    found = echoes(split_reasoning(reply.text)[0], prompt)
    copied = [(key, value) for key, value in found if fields is None or key in fields]
    copy = repeats(reply.text, prompt) or copies_material(reply.text, written)
    update = ({"echoes": copied} if copied else {}) | ({"repeats_prompt": True} if copy else {})
    return reply.model_copy(update=update) if update else reply


def copies_material(text: str, written: Sequence[str]) -> bool:
    """Is it a frame of the prompt with what stands in it, and nothing of its own?"""
    inside = FRAME.sub("", text).strip()
    return FRAME.search(text) is not None and any(inside in each for each in written)


def repeats(text: str, prompt: str) -> bool:
    """Does the text have several long lines of the prompt? One, such as a duty, may be quoted."""
    lines = {line.strip() for line in prompt.splitlines()}
    return sum(1 for line in lines if len(line) >= LONG_LINE and line in text) >= REPEATED_LINES
