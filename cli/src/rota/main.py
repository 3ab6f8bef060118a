"""The command `rota`: its options, its error output and exit codes."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from rota import context as contexts
from rota.errors import CliError
from rota.lazy_commands import SETTINGS, LazyGroup

FAILED, INTERRUPTED = 1, 130

app = typer.Typer(
    **SETTINGS,
    name="rota",
    cls=LazyGroup,
    help="Rota runs robot agents. `rota up` starts everything here; the other commands are clients of a running Rota.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(asked: bool) -> None:
    if asked:
        from rota_contracts.version import VERSION

        typer.echo(f"rota {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    at: typer.Context,
    context: Annotated[
        str,
        typer.Option(help="Act on this context's Rota, as in `rota context`. Default: ROTA_CONTEXT, else the current."),
    ] = "",
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    token = contexts.choose(context)
    at.call_on_close(lambda: contexts.end_choice(token))


def main(arguments: Sequence[str] | None = None) -> None:
    """Exit codes: 0 success, 1 failure, 2 wrong usage, 130 Ctrl+C."""
    # Where rich is installed, httpx imports its own command line too: more than half of its time.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    try:
        app(arguments)
    except CliError as error:
        from rota.output import print_error

        print_error(error)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
