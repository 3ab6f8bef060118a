"""Answers of a scripted model in the forms of OpenAI and Anthropic, whole and as the events of a stream."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

PIECE = 5
"""Characters of a stream's event."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one completion; `cached` are part of those that went in."""

    tokens_in: int = 1
    tokens_out: int = 1
    cached: int = 0


@dataclass(frozen=True)
class Completion:
    """An answer that may call tools: (name, arguments), which are JSON already when they are a text; with its
    `reasoning`, if the server sets that apart.

    `usage` None: the server doesn't report it. `cut`: the connection breaks in the middle. `finish`: why it ends, in
    OpenAI's words, where that isn't the usual reason.
    """

    calls: tuple[tuple[str, Json | str], ...] | list[tuple[str, Json | str]] = ()
    text: str = ""
    reasoning: str = ""
    usage: Usage | None = Usage()
    cut: bool = False
    finish: str = ""

    @property
    def finished(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")

    def arguments(self) -> Iterator[tuple[int, str, str]]:
        """Each call's number, name and arguments as JSON."""
        for number, (name, given) in enumerate(self.calls, start=1):
            yield number, name, given if isinstance(given, str) else json.dumps(given)


def seal(thinking: str) -> str:
    """What proves to this server that a block of thinking is its own."""
    return f"sig-{hashlib.sha256(thinking.encode()).hexdigest()[:16]}"


def openai_answer(made: Completion, model: str) -> Json:
    calls = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": given}}
        for number, name, given in made.arguments()
    ]
    message: Json = {"role": "assistant", "content": made.text or (None if calls else "")}
    message |= {"tool_calls": calls} if calls else {}
    message |= {"reasoning_content": made.reasoning} if made.reasoning else {}
    choice = {"index": 0, "message": message, "finish_reason": made.finished}
    usage = {"usage": _openai_usage(made.usage)} if made.usage else {}
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
        **usage,
    }


def _openai_usage(used: Usage) -> Json:
    return {
        "prompt_tokens": used.tokens_in,
        "completion_tokens": used.tokens_out,
        "total_tokens": used.tokens_in + used.tokens_out,
        "prompt_tokens_details": {"cached_tokens": used.cached},
    }


def openai_stream(made: Completion, model: str, *, with_usage: bool) -> Iterator[str]:
    """Server-sent events. Usage comes in one of its own, if the request wants it."""
    frame: Json = {"id": "scripted", "object": "chat.completion.chunk", "created": 0, "model": model}
    for delta in _openai_deltas(made):
        yield _data(frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _data(frame | {"choices": [{"index": 0, "delta": {}, "finish_reason": made.finished}]})
    if made.usage and with_usage:
        yield _data(frame | {"choices": [], "usage": _openai_usage(made.usage)})
    yield "data: [DONE]\n\n"


def _openai_deltas(made: Completion) -> Iterator[Json]:
    yield {"role": "assistant", "content": ""}
    yield from ({"reasoning_content": piece} for piece in _pieces(made.reasoning))
    yield from ({"content": piece} for piece in _pieces(made.text))
    for number, name, given in made.arguments():
        call = {"index": number - 1, "id": f"call_{number}", "type": "function"}
        yield {"tool_calls": [call | {"function": {"name": name, "arguments": ""}}]}
        for piece in _pieces(given):
            yield {"tool_calls": [{"index": number - 1, "function": {"arguments": piece}}]}


STOPPED = {"tool_calls": "tool_use", "stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
"""Anthropic's word for OpenAI's."""


def anthropic_answer(made: Completion, model: str) -> Json:
    """Anthropic's answers always report usage; without any it is left out all the same."""
    usage = {"usage": _anthropic_usage(made.usage)} if made.usage else {}
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(_blocks(made)),
        "stop_reason": STOPPED.get(made.finished, made.finished),
        "stop_sequence": None,
        **usage,
    }


def _blocks(made: Completion) -> Iterator[Json]:
    if made.reasoning:
        yield {"type": "thinking", "thinking": made.reasoning, "signature": seal(made.reasoning)}
    if made.text:
        yield {"type": "text", "text": made.text}
    for number, name, given in made.arguments():
        yield {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": json.loads(given or "{}")}


def _anthropic_usage(used: Usage) -> Json:
    return {
        "input_tokens": used.tokens_in - used.cached,
        "output_tokens": used.tokens_out,
        "cache_read_input_tokens": used.cached,
        "cache_creation_input_tokens": 0,
    }


def anthropic_stream(made: Completion, model: str) -> Iterator[str]:
    whole = anthropic_answer(made, model)
    usage = whole.get("usage", {"input_tokens": 0, "output_tokens": 0})
    start = whole | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 0}}
    yield _event("message_start", message=start)
    for index, block in enumerate(whole["content"]):
        yield from _anthropic_block(index, block)
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=ended, usage={"output_tokens": usage["output_tokens"]})
    yield _event("message_stop")


def _anthropic_block(index: int, block: Json) -> Iterator[str]:
    match block["type"]:
        case "thinking":
            empty, deltas = block | {"thinking": "", "signature": ""}, _deltas("thinking", block["thinking"])
            deltas += [{"type": "signature_delta", "signature": block["signature"]}]
        case "text":
            empty, deltas = block | {"text": ""}, _deltas("text", block["text"])
        case _:
            empty, deltas = block | {"input": {}}, _deltas("input_json", json.dumps(block["input"]), "partial_json")
    yield _event("content_block_start", index=index, content_block=empty)
    yield from (_event("content_block_delta", index=index, delta=delta) for delta in deltas)
    yield _event("content_block_stop", index=index)


def _deltas(kind: str, text: str, field: str = "") -> list[Json]:
    return [{"type": f"{kind}_delta", field or kind: piece} for piece in _pieces(text)]


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))


def _event(name: str, **fields: Any) -> str:
    return f"event: {name}\n{_data({'type': name, **fields})}"


def _data(value: Json) -> str:
    return f"data: {json.dumps(value)}\n\n"
