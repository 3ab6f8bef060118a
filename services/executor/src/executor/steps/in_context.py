"""A model's reply against its prompt: what it only repeats is stored with it, for replays, which have no prompt."""

import re
from collections.abc import Sequence

from executor.agents.sections.forms import NO_HTML
from executor.domain.answers.forms import echoes, plain
from executor.domain.answers.html import is_html
from executor.domain.answers.reasoning import split_reasoning
from executor.domain.answers.sanitise import FRAME
from executor.domain.answers.understand import with_quoted
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.conversation.messages import AGAIN
from rota_contracts.messages.trigger import Message

ASKS_A_PERSON = ("question",)
"""The fields of a form that an assistant's result may take; everything else in a result is its own."""

PART = re.compile(rf"<(started_by|expected_output|said_by_people_meanwhile)>.+?</\1>|{re.escape(plain(AGAIN))}")
"""A part of the prompt, under a name that is hardly anybody else's, or the end of what asks for another answer."""

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
    examples = echoes(split_reasoning(reply.text)[0], prompt)
    copied = [(key, value) for key, value in examples if fields is None or key in fields]
    copy = repeats(reply.text, prompt) or copies_material(reply.text, written)
    marked_up = in_html(reply.text, f"{prompt}\n" + "\n".join(written))
    found_of_it = {"echoes": copied, "repeats_prompt": copy, "in_html": marked_up}
    update = {name: found for name, found in found_of_it.items() if found}
    return reply.model_copy(update=update) if update else reply


def in_html(text: str, prompt: str) -> bool:
    """Is it written in HTML, though the prompt speaks of HTML only to say that the answer is without it?"""
    return NO_HTML in prompt and prompt.casefold().count("html") == 1 and is_html(text)


def copies_material(text: str, written: Sequence[str]) -> bool:
    """Is it a frame of the prompt with what stands in it, and nothing of its own? Or does it hold a part of the prompt
    with its tags?"""
    framed, parts = FRAME.search(text) is not None, [found[0] for found in PART.finditer(plain(text))]
    if not framed and not parts:
        return False
    given = [plain(FRAME.sub(" ", each)) for each in written]
    inside = plain(FRAME.sub(" ", text))
    return any((framed and inside in each) or any(part in each for part in parts) for each in given)


def repeats(text: str, prompt: str) -> bool:
    """Does the text have several long lines of the prompt? One, such as a duty, may be quoted."""
    lines = {line.strip() for line in prompt.splitlines()}
    return sum(1 for line in lines if len(line) >= LONG_LINE and line in text) >= REPEATED_LINES
