"""The understanding of a model's reply: reasoning apart, then calls, then the rest for a reader."""

from collections.abc import Sequence
from dataclasses import dataclass

from executor.domain.answers.dialects import without_wrapping
from executor.domain.answers.names import own_name
from executor.domain.answers.quoted import quoted_calls
from executor.domain.answers.reasoning import split_reasoning
from executor.domain.answers.sanitise import sanitised
from executor.domain.answers.silence import without_mark
from executor.domain.answers.text_calls import text_calls
from executor.domain.conversation.chat import ModelReply, Tool, ToolCall
from rota_common.json_text import parse_json

VERSION = 7
"""The version of this understanding. A journal's entries carry the one that they were made with. 0 took replies as
they came; 1 took any question to a person, and no call for one that was JSON alone; 2 kept no reasoning with calls,
and took texts of any length and with any character; 3 took goals for none where a reason to do nothing stood beside
them, a list of goals as it was written, and named long texts by their content alone; 4 let a run that no
person asked for ask a person at once, and took a call in doubled braces for text; 5 took the request's own words for
a result, refused the same call in one answer itself, and took a call whose arguments are a text for text; 6 failed
the run for an attachment that no answer named as it should."""


@dataclass(frozen=True)
class Understood:
    """A reply in parts. `silent`: it says that there is nothing to say."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    silent: bool = False


def understand(reply: ModelReply, tools: Sequence[Tool] = (), *, version: int = VERSION) -> Understood:
    """Pure: a replay understands the same reply in the same way. `reply.quoted` are calls that aren't the model's
    own (`with_quoted`)."""
    if version == 0:
        return Understood(reply.text, tuple(reply.calls), reply.reasoning)
    answer, inner = split_reasoning(reply.text)
    reasoning = "\n".join(part for part in (reply.reasoning, inner) if part)
    calls = [call.model_copy(update={"name": own_name(call.name, tools)}) for call in reply.calls]
    if not calls:
        found = text_calls(answer, tools, version=version)
        own = [call for call in found.calls if call.source not in reply.quoted]
        calls = [
            ToolCall(id=f"text-{number}", name=own_name(call.name, tools), arguments=call.arguments)
            for number, call in enumerate(own, start=1)
        ]
        answer = found.rest if found.calls else answer
    text, silent = without_mark(_readable(answer))
    return Understood(text, tuple(calls), reasoning, silent and not calls)


def with_quoted(reply: ModelReply, tools: Sequence[Tool], material: Sequence[str]) -> ModelReply:
    """The reply with those calls in its text named that stand in what others wrote. It is stored so, because a replay
    doesn't have the prompt."""
    if reply.calls or not tools:
        return reply
    quoted = quoted_calls(split_reasoning(reply.text)[0], tools, "\n".join(material), version=VERSION)
    return reply.model_copy(update={"quoted": quoted}) if quoted else reply


def _readable(text: str) -> str:
    """An answer that is JSON as a whole stays as it is: its parts are for a reader, and it isn't. Calls in it go."""
    body = without_wrapping(text)
    if body.lstrip()[:1] not in ("{", "["):
        return sanitised(text)
    try:
        value = parse_json(body)
    except ValueError:
        return sanitised(text)
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        return sanitised(str(value.get("content") or ""))
    return text
