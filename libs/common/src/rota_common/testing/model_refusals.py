"""Refusals of the real model providers: what is wrong with a request, in their words, by the rules they publish."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from rota_common.testing.model_answers import seal

Json = dict[str, Any]

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ID = re.compile(r"[a-zA-Z0-9_-]+")
CALL_ID_LIMIT = 40
CHARACTERS_PER_TOKEN = 4


def tokens(body: Json) -> int:
    """A rough count of what goes into the model."""
    return len(str([body.get("system"), body.get("messages"), body.get("tools")])) // CHARACTERS_PER_TOKEN


def openai_refusal(body: Json, window: int | None = None) -> tuple[str, str] | None:
    """Message and code of OpenAI's refusal, which is a 400; None for a request that it takes."""
    problem = next(_openai_problems(body), None)
    if problem is not None:
        return problem, "invalid_request_error"
    if window is not None and tokens(body) > window:
        return (
            f"This model's maximum context length is {window} tokens. However, your messages resulted in "
            f"{tokens(body)} tokens. Please reduce the length of the messages.",
            "context_length_exceeded",
        )
    return None


def _openai_problems(body: Json) -> Iterator[str]:
    messages: list[Json] = body.get("messages") or []
    if not messages:
        yield "Invalid 'messages': empty array. Expected an array with minimum length 1."
    if body.get("tools") == []:
        yield "Invalid 'tools': empty array. Expected an array with minimum length 1."
    if "tool_choice" in body and not body.get("tools"):
        yield "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
    for index, tool in enumerate(body.get("tools") or []):
        yield from _openai_name(f"tools[{index}].function.name", tool["function"]["name"])
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            yield from _openai_result(index, message, waiting)
            continue
        yield from _openai_unanswered(waiting)
        yield from _openai_message(index, message)
        waiting = [call["id"] for call in message.get("tool_calls") or []]
    yield from _openai_unanswered(waiting)


def _openai_name(at: str, name: str) -> Iterator[str]:
    if not NAME.fullmatch(name):
        yield (
            f"Invalid '{at}': string does not match pattern. Expected a string that matches the pattern "
            f"'^[a-zA-Z0-9_-]{{1,64}}$'."
        )


def _openai_result(index: int, message: Json, waiting: list[str]) -> Iterator[str]:
    if message.get("tool_call_id") not in waiting:
        yield (
            f"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            f"'tool_calls' (messages[{index}])."
        )
    else:
        waiting.remove(message["tool_call_id"])


def _openai_unanswered(waiting: Sequence[str]) -> Iterator[str]:
    if waiting:
        yield (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}"
        )


def _openai_message(index: int, message: Json) -> Iterator[str]:
    if message["role"] not in ("system", "developer", "user", "assistant"):
        yield f"Invalid value: '{message['role']}' (messages[{index}].role)."
    if message.get("content") is None and not message.get("tool_calls"):
        yield f"Invalid value for 'content': expected a string, got null (messages[{index}])."
    for call in message.get("tool_calls") or []:
        yield from _openai_name(f"messages[{index}].tool_calls.function.name", call["function"]["name"])
        if len(call["id"]) > CALL_ID_LIMIT:
            yield f"Invalid 'messages[{index}].tool_calls.id': string too long. Expected at most {CALL_ID_LIMIT}."


def anthropic_refusal(body: Json, window: int | None = None) -> tuple[str, str] | None:
    """Message and type of Anthropic's refusal, which is a 400; None for a request that it takes."""
    problem = next(_anthropic_problems(body), None)
    if problem is None and window is not None and tokens(body) > window:
        problem = f"prompt is too long: {tokens(body)} tokens > {window} maximum"
    return None if problem is None else (problem, "invalid_request_error")


def _anthropic_problems(body: Json) -> Iterator[str]:
    messages = [message | {"content": _blocks(message["content"])} for message in body.get("messages") or []]
    if not body.get("max_tokens"):
        yield "max_tokens: Field required"
    yield from _roles([message["role"] for message in messages])
    for index, tool in enumerate(body.get("tools") or []):
        if not NAME.fullmatch(tool["name"]):
            yield f"tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
    for index, message in enumerate(messages):
        yield from _content(index, message["content"])
    yield from _pairs(messages)
    if (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        yield from _thinking(body, messages)
    used = any(block["type"] in ("tool_use", "tool_result") for message in messages for block in message["content"])
    if used and not body.get("tools"):
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools"


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _roles(roles: Sequence[str]) -> Iterator[str]:
    if not roles:
        yield "messages: at least one message is required"
    elif roles[0] != "user":
        yield 'messages: first message must use the "user" role'
    for role, following in pairwise(roles):
        if role == following:
            alternate = 'messages: roles must alternate between "user" and "assistant"'
            yield f'{alternate}, but found multiple "{role}" roles in a row'
    for role in roles:
        if role not in ("user", "assistant"):
            yield f'messages: Unexpected role "{role}". The Messages API accepts a top-level `system` parameter'


def _content(index: int, blocks: Sequence[Json]) -> Iterator[str]:
    if not blocks:
        yield f"messages.{index}: all messages must have non-empty content"
    for number, block in enumerate(blocks):
        match block["type"]:
            case "text" if not block["text"].strip():
                yield "messages: text content blocks must contain non-whitespace text"
            case "tool_use" if not (ID.fullmatch(block["id"]) and NAME.fullmatch(block["name"])):
                yield f"messages.{index}.content.{number}.tool_use: String should match pattern '^[a-zA-Z0-9_-]+$'"
            case "thinking" if not block.get("signature"):
                yield f"messages.{index}.content.{number}.thinking.signature: Field required"
            case "thinking" if block["signature"] not in (seal(block["thinking"]),):
                yield f"messages.{index}.content.{number}: Invalid `signature` in `thinking` block"


def _pairs(messages: Sequence[Json]) -> Iterator[str]:
    ids = [_ids(message, "tool_use", "id") for message in messages]
    results = [_ids(message, "tool_result", "tool_use_id") for message in messages]
    every = [one for some in ids for one in some]
    if len(set(every)) < len(every):
        yield "messages: `tool_use` ids must be unique"
    for index, (asked, answered) in enumerate(zip([[], *ids], [*results, []], strict=True)):
        if foreign := [one for one in answered if one not in asked]:
            yield (
                f"messages.{index}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{', '.join(foreign)}. Each `tool_result` block must have a corresponding `tool_use` block in the "
                "previous message."
            )
        if missing := [one for one in asked if one not in answered]:
            yield (
                f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )


def _ids(message: Json, kind: str, field: str) -> list[str]:
    return [block[field] for block in message["content"] if block["type"] == kind]


def _thinking(body: Json, messages: Sequence[Json]) -> Iterator[str]:
    if body.get("temperature", 1) != 1:
        yield "`temperature` may only be set to 1 when thinking is enabled"
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        yield "Thinking may not be enabled when tool_choice forces tool use."
    for index, message in enumerate(messages):
        kinds = [block["type"] for block in message["content"]]
        answered = message["role"] == "assistant" and not _asks_again(messages[index + 1 :])
        if answered and "tool_use" in kinds and kinds[0] not in ("thinking", "redacted_thinking"):
            yield (
                f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`. "
                "When `thinking` is enabled, a final `assistant` message must start with a thinking block."
            )


def _asks_again(later: Sequence[Json]) -> bool:
    """Is there a new question, after which the thinking before it need not come back?"""
    return any(
        message["role"] == "user" and all(block["type"] != "tool_result" for block in message["content"])
        for message in later
    )
