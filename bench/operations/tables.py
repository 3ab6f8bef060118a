"""Numbers and tables as the page writes them."""

import textwrap
from collections.abc import Iterable, Sequence

KIB = 1024
WIDTH = 140
APART = ("|", "#", "<")
"""Beginnings of lines that stay as they are: of tables, headings and comments."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("".join(f"| {cell} " if cell else "| " for cell in line) + "|" for line in lines)


def number(value: float) -> str:
    """Three digits at least, and none that says nothing."""
    if value == 0 or abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %" if abs(share) >= 0.1 else f"{100 * share:.1f} %"


def seconds(value: float) -> str:
    if value < 1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"


def size(value: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < KIB:
            return f"{number(round(value) if unit == 'B' else value)} {unit}"
        value /= KIB
    return f"{number(value)} TiB"


def wrapped(text: str) -> str:
    """Paragraphs in lines of WIDTH."""
    return "\n\n".join(_wrapped(each) for each in text.split("\n\n"))


def _wrapped(paragraph: str) -> str:
    if paragraph.lstrip("\n").startswith(APART):
        return paragraph
    return textwrap.fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)
