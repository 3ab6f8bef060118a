"""The check of compatibility: compares the messages with those of the last release, `contracts/baseline.json`.

`python -m rota_contracts.tooling.compat` names each change. *breaking* fails the check; *readers first* is allowed, but
must reach the readers of the message before its publishers.

At a release, `--write-baseline VERSION` moves the baseline to the messages of the tree, once they pass the check.
To withdraw a message, add {"name": …, "reason": …, "version": …} to `retired` in the baseline: the file name of its
schema, why, and the first release without it. A retired name is never used again.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rota_contracts.catalog import ANYONE, CHANNELS, QUESTIONS
from rota_contracts.tooling.baseline import BASELINE, Baseline, Retired, baseline_text, read_baseline, shape
from rota_contracts.tooling.export import repository_root
from rota_contracts.tooling.schema_diff import ABSENT, Finding, differences
from rota_contracts.tooling.schemas import ROBOT_SCHEMA, RPC, schemas

Schemas = Mapping[str, dict[str, Any]]

ADVICE = """\
A payload in use may only gain optional fields. Take the change back, or publish a v2 on a new subject: roll out its
readers, then its publishers, and once version 1 is neither published nor read, retire it (--help).
"""


def findings(old: Schemas, new: Schemas, retired: Sequence[Retired] = ()) -> list[Finding]:
    """All that differs. `old` and `new` are file name → schema; what is `retired` may be missing in `new`."""
    names = {each.name for each in retired}
    found = [finding for name in sorted(old.keys() & new.keys()) for finding in differences(name, old[name], new[name])]
    found += [
        Finding(name, "$", "schema removed without an entry in `retired`", "there", ABSENT, breaking=True)
        for name in sorted(old.keys() - new.keys() - names)
    ]
    found += [
        Finding(name, "$", "name of a retired schema used again", ABSENT, "there", breaking=True)
        for name in sorted(names & new.keys())
    ]
    return found


def roll_out(schema: str) -> str:
    """The order in which a change of this schema is rolled out; empty for a schema that is gone."""
    name = schema.removesuffix(".json")
    if schema == ROBOT_SCHEMA:
        return "trigger-gateway and rota before owners' definitions"
    if channel := next((each for each in CHANNELS.values() if each.schema == schema), None):
        return f"{_listed(channel.consumers)} before {_listed(channel.producers)}"
    asked, _, side = name.removeprefix(RPC).rpartition(".")
    if question := QUESTIONS.get(asked):
        parties = question.answered_by, _listed(question.asked_by)
        return " before ".join(parties if side == "request" else parties[::-1])
    return ""


def _listed(services: frozenset[str]) -> str:
    return " and ".join("programs outside" if each == ANYONE else each for each in sorted(services))


def report(baseline: Baseline, new: Schemas) -> int:
    """Print the findings, each with its order of roll-out; 1 if one of them is breaking."""
    found = sorted(findings(baseline.schemas, new, baseline.retired), key=lambda each: each.breaking)
    for finding in found:
        order = roll_out(finding.schema)
        kind = "breaking" if finding.breaking else "readers first"
        sys.stdout.write(f"{kind}: {finding}{f' (roll-out: {order})' if order else ''}\n")
    broken = any(finding.breaking for finding in found)
    compared = f"compatible with {baseline.version}: {len(baseline.schemas)} schemas compared\n"
    sys.stdout.write(ADVICE if broken else compared)
    return int(broken)


def moved(baseline: Baseline, new: Schemas, version: str) -> Baseline:
    """The baseline of the release `version`. What was retired stays on record."""
    return Baseline(
        version=version, retired=baseline.retired, schemas={name: shape(schema) for name, schema in new.items()}
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m rota_contracts.tooling.compat",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--baseline", type=Path, help=f"default: {BASELINE} of this repository")
    parser.add_argument("--write-baseline", metavar="VERSION", help="at a release: write the baseline of this version")
    options = parser.parse_args(arguments)
    try:
        path = options.baseline or repository_root(Path.cwd()) / BASELINE
        baseline, new = read_baseline(path), schemas()
    except (FileNotFoundError, ValidationError) as error:
        parser.error(f"expected the baseline of the last release: {error}")
    failed = report(baseline, new)
    if options.write_baseline and not failed:
        path.write_text(baseline_text(moved(baseline, new, options.write_baseline)), encoding="utf-8")
        sys.stdout.write(f"wrote {path}\n")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
