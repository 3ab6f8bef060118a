"""Answers in HTML, where markdown was asked for."""

import re
from html import unescape

WRITTEN = re.compile(r"<(p|div|ul|ol|h[1-6]|table|body|html)\b[^<>]{0,200}>.*?</\1>", re.DOTALL | re.IGNORECASE)
ITEM = re.compile(r"\s*<li\b[^<>]{0,200}>", re.IGNORECASE)
PARAGRAPH_END = re.compile(r"</(?:p|div|ul|ol|h[1-6]|table)>", re.IGNORECASE)
LINE_END = re.compile(r"<br\s*/?>|</(?:tr|li)>", re.IGNORECASE)
TAG = re.compile(
    r"</?(?:p|div|ul|ol|li|h[1-6]|table|thead|tbody|tr|td|th|body|html|head|br|hr|strong|em|b|i|u|span|a)\b[^<>]{0,200}>",
    re.IGNORECASE,
)
GAP = re.compile(r"\n{3,}")


def is_html(text: str) -> bool:
    """Is a block of it HTML?"""
    return WRITTEN.search(text) is not None


def without_html(text: str) -> str:
    """The words of it, with its paragraphs and lists."""
    lines = LINE_END.sub("\n", PARAGRAPH_END.sub("\n\n", ITEM.sub("\n- ", text)))
    return GAP.sub("\n\n", unescape(TAG.sub("", lines))).strip()
