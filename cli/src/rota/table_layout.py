"""The layout of tables: widths of columns that keep ids whole, and lines for programs."""

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

GAP = 2
"""Columns of the screen between two cells."""

NARROWEST = 6
ID = re.compile(r"(?<!\S)(?=[^\s,]*\d)[A-Za-z0-9_.#-]{16,64}(?=,|\s|$)")
"""A word with a digit that is long enough to be an id."""

Row = Sequence[str]


def fit(rows: Sequence[Row], width: int) -> list[int] | None:
    """The widths of the columns, the widest narrowed first. None if the ids don't fit beside each other."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(_width, column)) for column in columns]
    least = [_least(column, natural) for column, natural in zip(columns, widths, strict=True)]
    room = width - GAP * (len(columns) - 1)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max((i for i in range(len(widths)) if widths[i] > least[i]), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each row, as long as it must be."""
    flat = [[" ".join(cell.split()) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*flat, strict=True)]
    for row in flat:
        yield (" " * GAP).join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()


def records(head: Row, rows: Sequence[Row]) -> Iterator[str]:
    """A block of lines for each row: the column's name, then the cell."""
    width = max(map(cell_len, head)) + GAP
    for row in rows:
        for name, cell in zip(head, row, strict=True):
            if cell:
                yield f"{_padded(name, width)}{cell}"
        yield ""


def _width(cell: str) -> int:
    return max(map(cell_len, cell.splitlines()), default=0)


def _least(column: Sequence[str], natural: int) -> int:
    ids = [len(found) for cell in column for found in ID.findall(cell)]
    return max([min(natural, NARROWEST), *ids])


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
