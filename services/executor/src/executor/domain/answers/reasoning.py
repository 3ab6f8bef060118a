"""Reasoning in an answer, in the tags of all usual dialects; it is set apart before anything is read."""

import re

from executor.domain.answers.code import CODE

NAMES = (
    "think",
    "thinking",
    "thought",
    "thoughts",
    "antthinking",
    "reasoning",
    "reasoning_content",
    "reflection",
    "scratchpad",
    "inner_monologue",
    "internal_monologue",
)
_NAME = "|".join(sorted(NAMES, key=len, reverse=True))
TAG = re.compile(
    rf"<\s*(?P<close>/?)\s*(?:[\w-]{{1,20}}:)?(?:{_NAME})(?:\s[^<>]{{0,200}}|\s*/?)>"
    r"|\[(?P<close_bracket>/?)THINK\]"
    r"|◁(?P<close_triangle>/?)think▷"
    r"|<\|(?:begin_of_thought|start_thinking)\|>"
    r"|(?P<close_token><\|(?:end_of_thought|end_thinking)\|>)",
    re.IGNORECASE,
)
CHANNEL = re.compile(r"<\|channel\|>[ \t]*(\w+)[^<]{0,200}<\|message\|>")
ENDS = re.compile(r"<\|(?:end|return|call|start)\|>")
SOLUTION = re.compile(r"<\|(?:begin|end)_of_solution\|>")
OPENED_IN_FENCE = re.compile(rf"\s*```[ \t]*\w*\s*(?={TAG.pattern})", re.IGNORECASE)


def split_reasoning(text: str) -> tuple[str, str]:
    """The answer, and the reasoning in it. Reasoning without an end goes on to the end; that without a beginning
    begins with the text, as with models whose prompt opens it. A tag in code is quoted."""
    if "<|channel|>" in text:
        return _of_channels(text)
    if TAG.search(text) is None:
        return text, ""
    answer, reasoning = _split(text)
    return SOLUTION.sub("", answer).strip(), "\n".join(piece.strip() for piece in reasoning if piece.strip())


def _split(text: str) -> tuple[str, list[str]]:
    answer: list[str] = []
    reasoning: list[str] = []
    quoted = _quoted(text)
    begun, depth, opened = 0, 0, False
    for tag in TAG.finditer(text):
        if depth == 0:
            while quoted and quoted[0][1] <= tag.start():
                quoted.pop(0)
            if quoted and quoted[0][0] <= tag.start():
                continue
        if _is_self_closed(tag):
            (reasoning if depth else answer).append(text[begun : tag.start()])
            begun = tag.end()
            continue
        piece, closes = text[begun : tag.start()], _closes(tag)
        if depth == 0 and closes and not opened:
            reasoning += [*answer, piece]
            answer.clear()
        elif depth == 0:
            answer.append(piece)
        else:
            reasoning.append(piece)
        opened = True
        depth = max(0, depth - 1) if closes else depth + 1
        begun = tag.end()
    (reasoning if depth else answer).append(text[begun:])
    return "".join(answer), reasoning


def _quoted(text: str) -> list[tuple[int, int]]:
    """Where code stands. A fence that opens with reasoning is the answer's own wrapping, and quotes nothing."""
    wrapping = OPENED_IN_FENCE.match(text)
    return [found.span() for found in CODE.finditer(text, wrapping.end() if wrapping else 0)]


def _closes(tag: re.Match[str]) -> bool:
    return any(tag[name] for name in ("close", "close_bracket", "close_triangle", "close_token"))


def _is_self_closed(tag: re.Match[str]) -> bool:
    return tag[0].endswith("/>")


def _of_channels(text: str) -> tuple[str, str]:
    """Answers in channels: the last `final` one is the answer, and everything else is reasoning."""
    found = list(CHANNEL.finditer(text))
    final = next((each for each in reversed(found) if each[1].lower() == "final"), None)
    if final is None:
        return "", text
    return ENDS.split(text[final.end() :], maxsplit=1)[0].strip(), text[: final.start()]
