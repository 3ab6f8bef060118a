"""`rota doctor`: the parts that Rota needs, and how to repair the missing ones."""

import os

import typer

from rota import context
from rota.doctor import run_checks
from rota.output import JsonFlag, say
from rota.running import run
from rota.show_findings import show


def register(app: typer.Typer) -> None:
    app.command("doctor", epilog="Example: `rota doctor`, or `rota doctor --json`")(doctor)


def doctor(json: JsonFlag = False) -> None:
    """Check everything that Rota needs. Exit code 1 if something required is missing."""
    findings = run(run_checks(context.load(), os.environ))
    missing = show(findings, json=json)
    if not json:
        nothing = "Nothing is missing." if all(one.asked for one in findings) else "Nothing that was asked is missing."
        say(f"{missing} missing." if missing else nothing)
    raise typer.Exit(1 if missing else 0)
