"""A command's selection: some things by their ids, or all that its options match."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from rota.timestamps import parse_past

WHEN = "A duration, like 1h or 2d, or a time with its offset."

Member = Annotated[str, typer.Option("--robot", "--member", help="Only this robot's.")]
Since = Annotated[datetime | None, typer.Option(parser=parse_past, metavar="TIME", help=f"From this time on. {WHEN}")]
Until = Annotated[datetime | None, typer.Option(parser=parse_past, metavar="TIME", help=f"Before this time. {WHEN}")]


def parameters(**given: str | datetime | None) -> dict[str, str]:
    """The API's parameters, without those that are not given."""
    return {name: each.isoformat() if isinstance(each, datetime) else str(each) for name, each in given.items() if each}


def check(ids: Sequence[str], matching: dict[str, str], *, what: str, options: str) -> None:
    """Raise typer.BadParameter unless exactly one of `ids` and `matching` is given."""
    if bool(ids) is bool(matching):
        raise typer.BadParameter(f"expected {what}, or at least one of {options}")
