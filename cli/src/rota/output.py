"""Output of commands: text or, with --json, JSON on standard output; errors on standard error."""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rota import table_layout
from rota.errors import CliError
from rota.timestamps import utc_time

if TYPE_CHECKING:
    from rich.console import Console

UTC = "(UTC)"
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def console(*, stderr: bool = False) -> "Console":
    """A console for the current stream: colours only on a terminal. Importing it takes longer than most commands."""
    from rich.console import Console

    return Console(file=sys.stderr if stderr else sys.stdout, highlight=False, emoji=False)


def say(text: str, *, style: str = "") -> None:
    """Print a line; square brackets are literal."""
    if style and sys.stdout.isatty():
        console().print(text, style=style, markup=False, soft_wrap=True)
    else:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def warn(text: str) -> None:
    console(stderr=True).print(text, style="yellow", markup=False, soft_wrap=True)


def say_json(value: Any) -> None:
    """Print one JSON value on one line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table. A program that reads it gets each row as one line; in a terminal, texts wrap and ids don't."""
    columns, cells = _in_utc(columns, [["" if cell is None else str(cell) for cell in row] for row in rows])
    everything = [list(columns), *cells]
    if not sys.stdout.isatty():
        for line in table_layout.lines(everything):
            say(line)
        return
    from rich.markup import escape
    from rich.table import Table

    screen = console()
    if widths := table_layout.fit(everything, screen.width):
        drawn = Table(box=None, header_style="bold", pad_edge=False, padding=(0, table_layout.GAP, 0, 0))
        for column, width in zip(columns, widths, strict=True):
            drawn.add_column(escape(column), width=width, overflow="fold")
        for row in cells:
            drawn.add_row(*map(escape, row))
        screen.print(drawn)
        return
    for line in table_layout.records(columns, cells):
        say(line)


def _in_utc(columns: Sequence[str], cells: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Instants as people read them: in UTC, to the second, which the column says instead of each cell."""
    timed = {place for row in cells for place, cell in enumerate(row) if INSTANT.fullmatch(cell)}
    named = [f"{name} (UTC)" if place in timed and UTC not in name else name for place, name in enumerate(columns)]
    shown = [
        [utc_time(datetime.fromisoformat(cell)) if INSTANT.fullmatch(cell) else cell for cell in row] for row in cells
    ]
    return named, shown


def excerpt(text: str, limit: int) -> str:
    """The beginning of a long text for a terminal; all of it for a program."""
    return text if len(text) <= limit or not sys.stdout.isatty() else f"{text[: limit - 1]}…"


def print_error(error: CliError) -> None:
    """Print an error and what to do on standard error."""
    from rich.markup import escape

    screen = console(stderr=True)
    screen.print(f"[red]Error:[/red] {escape(error.what)}", soft_wrap=True)
    for line in error.details:
        screen.print(f"  {escape(line)}", soft_wrap=True)
    if error.hint:
        screen.print(f"[bold]What to do:[/bold] {escape(error.hint)}", soft_wrap=True)
