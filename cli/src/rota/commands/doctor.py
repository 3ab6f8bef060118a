"""`rota doctor`: the parts that Rota needs, and how to repair the missing ones."""

import os
from dataclasses import asdict

import typer

from rota import context
from rota.doctor import run_checks
from rota.findings import Level
from rota.output import JsonFlag, say, say_json, table
from rota.running import run


def register(app: typer.Typer) -> None:
    app.command("doctor", epilog="Example: `rota doctor`, or `rota doctor --json`")(doctor)


def doctor(json: JsonFlag = False) -> None:
    """Check everything that Rota needs. Exit code 1 if something required is missing."""
    findings = run(run_checks(context.load(), os.environ))
    missing = [finding for finding in findings if finding.level is Level.MISSING]
    if json:
        for finding in findings:
            say_json(asdict(finding))
    else:
        table(("PART", "", "FOUND"), [(one.part, one.level.value, one.found) for one in findings])
        for one in findings:
            if one.mend:
                say(f"{one.part}: {one.mend}")
        say(f"{len(missing)} missing." if missing else "Nothing is missing.")
    raise typer.Exit(1 if missing else 0)
