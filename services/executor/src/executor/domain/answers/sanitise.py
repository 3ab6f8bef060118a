"""The steps that make an answer fit for a reader, reasoning being apart already; code is left as it is."""

import re

from executor.domain.answers.blocks import TAG, without_blocks
from executor.domain.answers.code import outside
from executor.domain.answers.dialects import MARKERS, in_one_dialect, without_wrapping
from executor.domain.answers.reasoning import split_reasoning
from rota_common.json_text import read_json

PARAMETER = re.compile(
    r"<(?:[\w-]{1,20}:)?parameter(?:\s[^<>]{0,200})?>(?:[^<]*</(?:[\w-]{1,20}:)?parameter>)?|</(?:[\w-]{1,20}:)?parameter>",
    re.IGNORECASE,
)
FINAL = re.compile(r"<\s*/?\s*final\s*>", re.IGNORECASE)
DOWNGRADED = re.compile(r"\[(?P<kind>Tool Call:|Tool Result\b|Historical context:)[^\]\n]*\]?", re.IGNORECASE)
ARGUMENTS = re.compile(r"\s*(?:arguments|args|parameters|input)\s*:[ \t]*", re.IGNORECASE)
SYSTEM = re.compile(r"^[ \t]*\[System Message\]", re.IGNORECASE)
FRAME = re.compile(r"</?material-[0-9a-f]{12}[^<>\n]{0,100}>")
OURS = re.compile(
    r"\s*<(request|task|goals|said_by_people_meanwhile|started_by|expected_output)>(.*)</\1>\s*", re.DOTALL
)
"""The tags of prompts: a frame's anywhere, and one that a whole answer stands in."""

PARAGRAPH_END = re.compile(r"\n[ \t]*(?:\n|\Z)|\Z")
MARKED = re.compile(
    r"<|\[(?:Tool|Historical|System)|◁|\[/?(?:THINK|TOOL_)|```[ \t]*(?:tool|invoke|func)", re.IGNORECASE
)


def sanitised(text: str) -> str:
    """The text for a reader."""
    if MARKED.search(text):
        text = strip_garbled_tool_tags(text)
        text = outside(text, strip_downgraded_calls)
        text = strip_reasoning(text)
        text = outside(text, strip_final_tags)
        text = outside(text, strip_echoed_system_messages)
        text = strip_tags_of_prompts(text)
    text = collapse_repeated_blocks(text)
    return strip_leading_blank_lines(text).strip()


def strip_garbled_tool_tags(text: str) -> str:
    """Without calls in tags, their arguments and what tools are said to have answered."""
    body = without_wrapping(text)
    if MARKERS.search(body) is None:
        return text
    if MARKERS.match(body.lstrip()) is None:
        body = text
    rest = without_blocks(in_one_dialect(body))
    return outside(rest, lambda piece: PARAMETER.sub("", TAG.sub("", piece)))


def strip_downgraded_calls(text: str) -> str:
    """Without `[Tool Call: …]` and its arguments, `[Tool Result …]` and `[Historical context: …]` and what follows
    them, up to an empty line."""
    kept, position = [], 0
    while (found := DOWNGRADED.search(text, position)) is not None:
        kept.append(text[position : found.start()])
        position = _end_of_call(text, found.end()) if "call" in found["kind"].lower() else _end_of_output(text, found)
    return "".join([*kept, text[position:]])


def _end_of_call(text: str, position: int) -> int:
    arguments = ARGUMENTS.match(text, position)
    begin = arguments.end() if arguments else position
    at = begin + len(text[begin : begin + 200]) - len(text[begin : begin + 200].lstrip())
    if (end := read_json(text, at)) is not None:
        return end
    broken = arguments is not None or text[at : at + 1] in ("{", "[")
    return _paragraph_end(text, at) if broken else position


def _end_of_output(text: str, found: re.Match[str]) -> int:
    begin = found.end()
    at = begin + len(text[begin : begin + 200]) - len(text[begin : begin + 200].lstrip())
    return read_json(text, at) or _paragraph_end(text, begin)


def _paragraph_end(text: str, position: int) -> int:
    found = PARAGRAPH_END.search(text, position)
    return found.start() if found else len(text)


def strip_reasoning(text: str) -> str:
    return split_reasoning(text)[0]


def strip_final_tags(text: str) -> str:
    """Without the tags; what is in them stays."""
    return FINAL.sub("", text)


def strip_tags_of_prompts(text: str) -> str:
    """Without the tags; what is in them stays."""
    text = FRAME.sub("", text)
    whole = OURS.fullmatch(text)
    return whole[2] if whole and f"<{whole[1]}>" not in whole[2] else text


def strip_echoed_system_messages(text: str) -> str:
    """Without `[System Message]` and its lines, up to an empty one."""
    kept: list[str] = []
    skipping = False
    for line in text.split("\n"):
        skipping = SYSTEM.match(line) is not None or (skipping and bool(line.strip()))
        if not skipping:
            kept.append(line)
    return "\n".join(kept)


def collapse_repeated_blocks(text: str) -> str:
    """Each paragraph once where it repeats the one before it; within a fence nothing is a repetition."""
    kept: list[str] = []
    before, fences = "", 0
    for block in text.split("\n\n"):
        if fences % 2 or not block.strip() or block.strip() != before:
            kept.append(block)
        before = block.strip()
        fences += block.count("```")
    return "\n\n".join(kept)


def strip_leading_blank_lines(text: str) -> str:
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:])
