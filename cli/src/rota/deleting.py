"""Deletions: confirmed first, then reported."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from rota.client import Api
from rota.output import say, say_json
from rota.running import with_api

YesFlag = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def delete(
    remove: Callable[[Api], Awaitable[None]], *, named: dict[str, str], question: str, yes: bool, json: bool
) -> None:
    """`named` is the field and the name of the deleted object: `{"key_id": "k1"}`."""
    if not yes:
        typer.confirm(question, abort=True, err=True)
    with_api(remove)
    if json:
        say_json(named | {"outcome": "deleted"})
    else:
        say(f"{', '.join(named.values())}: deleted")
