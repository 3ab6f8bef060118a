"""Output of commands: text or, with --json, JSON on standard output; errors on standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rota.errors import CliError

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

PIPE_WIDTH = 160
"""Columns without a terminal."""


def console(*, stderr: bool = False) -> Console:
    """A console for the current stream: colours and its real width only on a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False)


def say(text: str, *, style: str = "") -> None:
    """Print a line; square brackets are literal."""
    console().print(escape(text), style=style or None, soft_wrap=True)


def warn(text: str) -> None:
    console(stderr=True).print(escape(text), style="yellow", soft_wrap=True)


def say_json(value: Any) -> None:
    """Print one JSON value on one line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    drawn = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*(escape("" if cell is None else str(cell)) for cell in row))
    console().print(drawn)


def print_error(error: CliError) -> None:
    """Print an error and what to do on standard error."""
    screen = console(stderr=True)
    screen.print(f"[red]Error:[/red] {escape(error.what)}", soft_wrap=True)
    for line in error.details:
        screen.print(f"  {escape(line)}", soft_wrap=True)
    if error.hint:
        screen.print(f"[bold]What to do:[/bold] {escape(error.hint)}", soft_wrap=True)
