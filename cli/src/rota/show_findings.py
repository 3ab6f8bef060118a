"""Findings as lines of JSON, or as a table with the repairs below."""

from collections.abc import Sequence
from dataclasses import asdict

from rota.findings import Finding, Level
from rota.output import say, say_json, table


def show(findings: Sequence[Finding], *, json: bool) -> int:
    """The number of those that are missing."""
    if json:
        for finding in findings:
            say_json(asdict(finding))
    else:
        table(("PART", "", "FOUND"), [(one.part, one.level.value, one.found) for one in findings])
        for one in findings:
            if one.mend:
                say(f"{one.part}: {one.mend}")
    return sum(finding.level is Level.MISSING for finding in findings)
