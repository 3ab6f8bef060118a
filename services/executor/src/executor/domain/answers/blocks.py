"""Blocks of tool tags in an answer: where each begins and ends, and what stands in it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from executor.domain.answers.code import hidden
from executor.domain.answers.dialects import OPENING, RESULTS, WRAPPING
from rota_common.json_text import read_json

ONE, ALL, RESULT = "|".join(OPENING), "|".join(WRAPPING), "|".join(RESULTS)
TAG = re.compile(
    rf"<\s*(?P<close>/?)\s*(?:[\w-]{{1,20}}:)?(?:(?P<one>{ONE})|(?P<all>{ALL})|(?P<result>{RESULT}))"
    r"(?P<attributes>\s[^<>]{0,400}|\s*)>",
    re.IGNORECASE,
)
NAME = re.compile(r"""\bname\s*=\s*["']([^"'<>]{1,200})["']""")
SPACE = re.compile(r"[ \t\r\n]*(?:```\w*\s*)?")

MOST_WITH_JSON = 200
"""Blocks whose JSON is read to find their end; a text with more of them is hostile, and would take too long."""


@dataclass(frozen=True)
class Block:
    """One call, as it stands in `text[start:end]`; `name` if its tag has one. `result`: what a tool would answer."""

    start: int
    end: int
    body: str
    name: str = ""
    result: bool = False


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a text in one dialect, none of them in code. One that isn't closed ends with its JSON, else where
    the next one begins, else with the text."""
    tags = list(TAG.finditer(hidden(text)))
    index = count = 0
    while index < len(tags):
        tag = tags[index]
        if tag["close"] or tag["all"] is not None:
            index += 1
            continue
        start = tag.start()
        while index + 1 < len(tags) and _nested(text, tags[index], tags[index + 1]):
            index += 1
        tag = tags[index]
        later = (tags[number] for number in range(index + 1, len(tags)))
        end, body = _extent(text, tag, later, with_json=count < MOST_WITH_JSON)
        count += 1
        named = NAME.search(tag["attributes"])
        yield Block(start, end, body, named[1] if named else "", result=tag["result"] is not None)
        index += 1
        while index < len(tags) and (tags[index].start() < end or _closes_only(text, end, tags[index])):
            end = max(end, tags[index].end())
            index += 1


def without_blocks(text: str) -> str:
    """The text without its blocks, and without tags and parameters that are left of any."""
    kept, position = [], 0
    for block in blocks(text):
        kept.append(text[position : block.start])
        position = max(position, block.end)
    kept.append(text[position:])
    return "".join(kept)


def _nested(text: str, outer: re.Match[str], inner: re.Match[str]) -> bool:
    """One tag right in another is the same call."""
    opens = not inner["close"] and inner["one"] is not None and outer["one"] is not None
    return opens and not text[outer.end() : inner.start()].strip()


def _closes_only(text: str, end: int, tag: re.Match[str]) -> bool:
    return bool(tag["close"]) and not text[end : tag.start()].strip(" \t\r\n`")


def _extent(text: str, tag: re.Match[str], later: Iterable[re.Match[str]], *, with_json: bool) -> tuple[int, str]:
    """The end of a block, and its body. A tag within its JSON ends nothing."""
    begin = tag.end()
    at = SPACE.match(text, begin)
    json_end = read_json(text, at.end() if at else begin) if with_json else None
    following = next((each for each in later if json_end is None or each.start() >= json_end), None)
    if json_end is not None:
        closed = following is not None and _closes_only(text, json_end, following)
        return (following.end() if closed and following else json_end), text[begin:json_end]
    if following is None:
        return len(text), text[begin:]
    return (following.end() if following["close"] else following.start()), text[begin : following.start()]
