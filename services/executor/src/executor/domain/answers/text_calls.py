"""Calls of tools that a model wrote as text: tags and their dialects, fences, JSON envelopes, and lines of a name with
its arguments. JSON in prose is never a call."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from executor.domain.answers.blocks import Block, blocks
from executor.domain.answers.code import hidden, unwrapped
from executor.domain.answers.dialects import in_one_dialect, without_wrapping
from executor.domain.answers.names import is_known
from executor.domain.answers.tagged_arguments import arguments_of, nested, parameters
from executor.domain.conversation.chat import Tool
from executor.domain.conversation.loop import UNREADABLE
from rota_common.json_text import parse_json, repaired_json
from rota_contracts.model import Json

LINE = re.compile(
    r"^[ \t]*(?P<name>[A-Za-z_][\w.-]{0,63})/(?:(?P<key>\w{1,64})>(?P<value>[^\n]+)|(?P<json>\{[^\n]*\}))$", re.M
)
FIRST_WORD = re.compile(r"\s*([A-Za-z_][\w.:-]{0,127})[ \t]*(?:\r?\n|(?=\{))")
MOST_BLOCKS = 100
"""Blocks that are taken for calls; the others are left out as garbled."""

ENVELOPES = ("tool_calls", "tool_call", "function_call")
ARGUMENTS = ("arguments", "parameters", "args", "input")


@dataclass(frozen=True)
class TextCall:
    """A call as it stands in `source`."""

    name: str
    arguments: dict[str, Any]
    source: str


@dataclass(frozen=True)
class Found:
    """The calls in an answer, and the answer without them."""

    calls: tuple[TextCall, ...]
    rest: str


def text_calls(text: str, tools: Sequence[Tool], *, version: int) -> Found:
    """The calls of `tools` in an answer. Tags may name a tool that there isn't, which gets an error as its result.
    An answer that is nothing but a tool's name and its arguments as JSON is a call, too, also with its braces doubled,
    as templates write them. `version`: of the understanding."""
    if not tools:
        return Found((), text)
    if (envelope := _envelope(text)) is not None:
        return envelope
    for form in (text, _single_braces(text)) if version > 4 else (text,):
        if version > 1 and (call := bare_call(form, version=version)) is not None and is_known(call.name, tools):
            return Found((replace(call, source=text),), "")
    plain = in_one_dialect(without_wrapping(text))
    found: list[TextCall] = []
    rest: list[str] = []
    position = 0
    for block in islice(blocks(plain), MOST_BLOCKS):
        rest.append(plain[position : block.start])
        position = max(position, block.end)
        if not block.result:
            found += _of_block(block, plain[block.start : block.end], tools)
    rest.append(plain[position:])
    if not found:
        return _lines(text, tools)
    return Found(tuple(found), "".join(rest))


def _envelope(text: str) -> Found | None:
    """The whole answer as one JSON object that says that it is calls."""
    body = unwrapped(text).strip()
    if not body.startswith("{") or not any(f'"{name}"' in body for name in ENVELOPES):
        return None
    value = _json(body)
    if not isinstance(value, dict):
        return None
    given = next((value[name] for name in ENVELOPES if name in value), None)
    calls = tuple(_of_json(given, body))
    content = value.get("content")
    return Found(calls, content if isinstance(content, str) else "") if calls else None


def bare_call(text: str, *, version: int) -> TextCall | None:
    """The whole answer as one JSON object, or a fence of it, that has a name, arguments and nothing else to say. The
    arguments may be JSON in a text, as OpenAI's protocol has them."""
    body = unwrapped(text).strip()
    value = _json(body) if body.startswith("{") else None
    if not isinstance(value, dict) or not value.keys() <= {"name", "id", "type", *ARGUMENTS}:
        return None
    named = [value[key] for key in ARGUMENTS if key in value]
    read = [_json(each) if isinstance(each, str) and version > 5 else each for each in named]
    given = [each for each in read if isinstance(each, dict)]
    name = value.get("name")
    return TextCall(name.strip(), given[0], text) if isinstance(name, str) and len(given) == 1 else None


def _single_braces(text: str) -> str:
    body = unwrapped(text).strip()
    return body.replace("{{", "{").replace("}}", "}") if body.startswith("{{") and body.endswith("}}") else ""


def _lines(text: str, tools: Sequence[Tool]) -> Found:
    """`name/key>value` and `name/{json}`, a line each, of tools that there are."""
    found: list[TextCall] = []
    rest, position = [], 0
    for line in LINE.finditer(hidden(text)):
        if not is_known(line["name"], tools):
            continue
        given = _json(line["json"]) if line["json"] else {line["key"]: line["value"].strip()}
        if not isinstance(given, dict):
            continue
        found.append(TextCall(line["name"], given, line[0]))
        rest.append(text[position : line.start()])
        position = line.end()
    return Found(tuple(found), "".join([*rest, text[position:]]))


def _of_block(block: Block, source: str, tools: Sequence[Tool]) -> Iterator[TextCall]:
    body = block.body.strip()
    if block.name:
        yield TextCall(block.name, parameters(body) or _arguments(_json(body) if body else {}, body), source)
        return
    value = _json(unwrapped(body))
    if calls := list(_of_json(value, source)):
        yield from calls
    elif given := arguments_of(body):
        yield TextCall(*given, source)
    elif named := nested(body, lambda name: is_known(name, tools)):
        name, inner = named
        yield TextCall(name, inner if isinstance(inner, dict) else _arguments(_json(inner), inner), source)
    elif word := FIRST_WORD.match(body):
        left = unwrapped(body[word.end() :].strip())
        yield TextCall(word[1], _arguments(_json(left) if left.strip() else {}, left), source)
    elif is_known(body, tools):
        yield TextCall(body, {}, source)


def _of_json(value: Json, source: str) -> Iterator[TextCall]:
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, dict):
            continue
        inner = each.get("function")
        call = inner if isinstance(inner, dict) else each
        name = (
            call.get("name") or call.get("tool") or call.get("tool_name") or (inner if isinstance(inner, str) else "")
        )
        if isinstance(name, str) and name.strip():
            given: Json = next((call[key] for key in ARGUMENTS if key in call), {})
            if isinstance(given, str):
                given = _arguments(_json(given) if given.strip() else {}, given)
            yield TextCall(name.strip(), _arguments(given, str(given)), source)


def _arguments(value: Json, text: str) -> dict[str, Any]:
    if value is None:
        return {} if not text.strip() or text.strip() in ("null", "None") else {UNREADABLE: text}
    return value if isinstance(value, dict) else {UNREADABLE: text}


def _json(text: str) -> Json:
    """None if it is no JSON, also after a repair."""
    try:
        return parse_json(text)
    except ValueError:
        return repaired_json(text)
