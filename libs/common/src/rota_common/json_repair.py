"""The repair of JSON with small faults: comments, commas before a closing bracket, single quotes, Python's constants.

Nothing is evaluated, and nothing is added: JSON that was cut off stays broken.
"""

import re

LONGEST = 1_000_000
"""Characters of the longest text that is repaired."""

STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
SINGLE = re.compile(r"'((?:[^'\\\n]|\\.)*)'(?=\s{0,100}[:,}\]])")
PLAIN = re.compile(r"[^\"'/#,TFN]+")
CONSTANT = re.compile(r"\b(?:True|False|None)\b")
CONSTANTS = {"True": "true", "False": "false", "None": "null"}
SPACE = re.compile(r"\s*")


def repair(text: str) -> str:
    """The text without these faults. Raises ValueError where it can't be said what was meant."""
    if len(text) > LONGEST:
        raise ValueError(f"expected at most {LONGEST} characters to repair, got {len(text)}")
    made: list[str] = []
    position = 0
    while position < len(text):
        position, piece = _piece(text, position, made)
        made.append(piece)
    return "".join(made)


def _piece(text: str, position: int, made: list[str]) -> tuple[int, str]:
    """The end of the piece at `position`, and what it is to be."""
    if found := PLAIN.match(text, position):
        return found.end(), found[0]
    match text[position]:
        case '"':
            return _string(text, position)
        case "'":
            return _single_quoted(text, position, made)
        case "/" | "#" if (end := _comment_end(text, position)) is not None:
            return end, ""
        case ",":
            return position + 1, "" if _closes(text, position + 1) else ","
        case _ if found := CONSTANT.match(text, position):
            return found.end(), CONSTANTS[found[0]]
        case other:
            return position + 1, other


def _string(text: str, position: int) -> tuple[int, str]:
    found = STRING.match(text, position)
    if found is None:
        raise ValueError("a string has no end")
    return found.end(), found[0]


def _single_quoted(text: str, position: int, made: list[str]) -> tuple[int, str]:
    """Only where a string may stand, and where it is clear which quote ends it."""
    before = next((piece.rstrip() for piece in reversed(made) if piece.strip()), "")
    found = SINGLE.match(text, position)
    if found is None or before[-1:] not in ("{", "[", ",", ":"):
        raise ValueError("it isn't clear where a text in single quotes ends")
    inner = re.sub(r"\\'", "'", found[1])
    return found.end(), '"' + re.sub(r'(?<!\\)"', r"\"", inner) + '"'


def _comment_end(text: str, position: int) -> int | None:
    if text.startswith("/*", position):
        end = text.find("*/", position + 2)
        if end < 0:
            raise ValueError("a comment has no end")
        return end + 2
    if text.startswith(("//", "#"), position):
        end = text.find("\n", position)
        return len(text) if end < 0 else end
    return None


def _closes(text: str, position: int) -> bool:
    """Does nothing but space and comments stand between here and a closing bracket?"""
    while True:
        found = SPACE.match(text, position)
        position = found.end() if found else position
        if position >= len(text):
            return False
        end = _comment_end(text, position)
        if end is None:
            return text[position] in "}]"
        position = end
