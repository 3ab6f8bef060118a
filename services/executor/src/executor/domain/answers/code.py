"""Code in an answer: what stands in backticks is quoted, and no marker of a model's own."""

import re
from collections.abc import Callable, Iterator

FENCED = r"```.*?```"
SPAN = r"(?<!`)`[^`\n]+`(?!`)"
CODE = re.compile(f"{FENCED}|{SPAN}", re.DOTALL)
WRAPPED = re.compile(r"\s*```[ \t]*[\w-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*", re.DOTALL)


def unwrapped(text: str) -> str:
    """The body of the one fence that is the whole text; any other text as it is."""
    found = WRAPPED.fullmatch(text) if text.count("```") == 2 else None
    return found[1] if found else text


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces, each with whether it is code."""
    position = 0
    for found in CODE.finditer(text):
        yield False, text[position : found.start()]
        yield True, found[0]
        position = found.end()
    yield False, text[position:]


def outside(text: str, change: Callable[[str], str]) -> str:
    """The text with `change` made to everything that isn't code."""
    return "".join(piece if is_code else change(piece) for is_code, piece in parts(text))


def hidden(text: str) -> str:
    """The text with its code blanked out, every character in its old place."""
    return CODE.sub(lambda found: " " * len(found[0]), text)
