"""Dialects of calls in text, put into one: `<tool_call>` around JSON or tags, `<invoke name="…">` around parameters."""

import re

from executor.domain.answers.code import unwrapped

OPENING = ("tool_call", "tool-call", "toolcall", "function_call", "function-call", "functioncall", "tool_use", "invoke")
"""Tags around one call."""

WRAPPING = ("tool_calls", "function_calls", "toolcalls")
"""Tags around several."""

RESULTS = ("tool_result", "tool_results", "tool_response", "tool_output", "function_result", "function_results")
"""Tags around what a tool answered, which a model may only invent."""

MARKERS = re.compile(
    rf"<\s*/?\s*(?:[\w-]{{1,20}}:)?(?:{'|'.join((*OPENING, *WRAPPING, *RESULTS))})\b"
    r"|<\s*/?\s*parameter[\s=>]|<function[\s=]|<｜|<\|/?tool|\[/?TOOL_CALLS?\]"
    r"|```[ \t]*(?:tool|invoke|function[_-]?call)",
    re.IGNORECASE,
)

FENCE = re.compile(
    r"```[ \t]*(?:tool[_-]?calls?|toolcall|function[_-]?call|tool[_-]?use|invoke|tool(?=[ \t]+[\w.-]))"
    r"[ \t]*(?P<name>[\w.-]*)[ \t]*\r?\n(?P<body>.*?)(?:```|</tool[_-]?call>|\Z)",
    re.DOTALL | re.IGNORECASE,
)

SAME = (
    (re.compile(r"<(/?)｜DSML｜"), r"<\1"),
    (re.compile(r"<[|｜]tool[▁_]calls[▁_](?:section[▁_])?(?:begin|end)[|｜]>"), ""),
    (re.compile(r"<[|｜]tool[▁_]call[▁_]begin[|｜]>(?:function<｜tool▁sep｜>)?"), "<tool_call>"),
    (re.compile(r"<[|｜]tool[▁_]call[▁_]end[|｜]>|<\|/tool_call\|>"), "</tool_call>"),
    (re.compile(r"<｜tool▁sep｜>|<\|tool_call_argument_begin\|>"), "\n"),
    (re.compile(r"<\|tool_call\|>|\[TOOL_CALLS?\]"), "<tool_call>"),
    (re.compile(r"\[/TOOL_CALLS?\]"), "</tool_call>"),
    (re.compile(r"<function\s*=\s*\"?([\w.:-]+)\"?\s*>"), r'<invoke name="\1">'),
    (re.compile(r"<function\s+(name\s*=)"), r"<invoke \1"),
    (re.compile(r"</function>"), "</invoke>"),
    (re.compile(r"<parameter\s*=\s*\"?([\w.:-]+)\"?\s*>"), r'<parameter name="\1">'),
)


def in_one_dialect(text: str) -> str:
    """The text with its calls in one dialect; without a marker of any, as it is."""
    if MARKERS.search(text) is None:
        return text
    text = FENCE.sub(lambda found: f"<tool_call>{found['name']}\n{found['body']}</tool_call>", text)
    for pattern, same in SAME:
        text = pattern.sub(same, text)
    return text


def without_wrapping(text: str) -> str:
    """The body of a fence that is the whole answer, unless the fence itself is a call."""
    return text if FENCE.match(text.lstrip()) else unwrapped(text)
