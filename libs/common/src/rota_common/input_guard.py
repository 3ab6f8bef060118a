"""The input guard: patterns of prompt injection in a text from outside, and the cut of a text that is too long.

It detects, and proves nothing: what keeps foreign words from being obeyed is the frame (`rota_common.material`). Every
repetition in a pattern is bounded, so a scan is linear in the text, whatever that is.
"""

import re
from dataclasses import dataclass

MAX_MESSAGE_CHARS = 32_768

NOTICE = "\n\n[This message was shortened: it has {size} characters, of which you are shown the first {shown}.]"

_WORDS = r"(?:\w{1,20} )"
_PERSONA = r"(?:assistant|agent|ai|bot|chatbot|model|persona|character|dan)\b"
_RULES = r"(?:instruction|prompt|rule|guideline|directive|direction)s?\b"
_OTHER = r"(?:different|new|another|unrestricted|unfiltered|uncensored|jailbroken|evil)\b"


@dataclass(frozen=True)
class _Pattern:
    """Looked for only in a text with one of the `marks`, which is much quicker to say."""

    name: str
    marks: tuple[str, ...]
    shape: re.Pattern[str]


def _pattern(name: str, marks: tuple[str, ...], *shapes: str) -> _Pattern:
    return _Pattern(name, marks, re.compile("|".join(shapes)))


PATTERNS = (
    _pattern(
        "ignore_instructions",
        ("ignore ", "disregard ", "forget ", "override ", "bypass "),
        rf"\b(?:ignore|disregard|forget|override|bypass) {_WORDS}?"
        rf"(?:all|any|every|previous|prior|above|earlier|preceding|your|these|those|system) {_WORDS}{{0,3}}{_RULES}",
        rf"\b(?:ignore|disregard|forget) (?:everything|all|anything) {_WORDS}{{0,3}}(?:above|before|previously)\b",
    ),
    _pattern(
        "role_override",
        ("you are ", "pretend ", "act as ", "behave ", "roleplay "),
        rf"\byou are (?:now|no longer|henceforth) {_WORDS}{{0,4}}{_PERSONA}",
        rf"\b(?:pretend to be|pretend (?:that )?you are|act as|behave (?:as|like)|roleplay as) (?:an? |the )?{_OTHER}",
        r"\bact as if you (?:are|were|have|had)\b",
    ),
    _pattern(
        "system_tags",
        ("<|", "[system]", "[/system]", "[inst]", "[/inst]", "<<sys>>", "<</sys>>", "<system", "</system"),
        r"<\|(?:im_start|im_end|system|start_header_id|endoftext)\|>",
        r"\[/?(?:system|inst)\]|<</?sys>>|</?system(?:[_ -](?:prompt|message))?>",
    ),
    _pattern(
        "instruction_injection",
        ("instruction", "override:", "system prompt:"),
        r"\b(?:new|updated|real|secret|hidden) (?:system )?instructions?:|\bsystem prompt:",
        r"(?:^|[.!?] )override:",
    ),
    _pattern(
        "delimiter_escape",
        (" of system", " of user", " of the system", " of prompt", " of the prompt", "</"),
        r"\b(?:end|begin|start) of (?:the )?(?:system|user|prompt)(?: (?:prompt|message|input|instructions?))?"
        r"\b(?! ?\w)",
        r"</(?:instructions?|prompt|context|user_input|user|material[\w-]{0,40})>",
    ),
)


def scan(text: str) -> tuple[str, ...]:
    """The names of the patterns that the text holds, sorted."""
    lines = text.casefold().splitlines()
    whole = " ".join(text.casefold().split())
    found = {each.name for each in PATTERNS if any(mark in whole for mark in each.marks) and each.shape.search(whole)}
    if any(line.lstrip().startswith("override:") for line in lines):
        found.add("instruction_injection")
    if "\x00" in text:
        found.add("null_bytes")
    return tuple(sorted(found))


def shortened(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """The text, or its beginning with a notice for its reader."""
    if len(text) <= limit:
        return text
    return text[:limit] + NOTICE.format(size=len(text), shown=limit)
