"""`python -m rota_contracts.tooling.compat`: refuses a change of the schemas that breaks messages in use."""

import argparse
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rota_contracts.tooling.export import SCHEMAS, repository_root
from rota_contracts.tooling.schema_diff import ABSENT, Finding, differences

Schemas = Mapping[str, dict[str, Any]]

NOT_A_SCHEMA = "asyncapi.json"
"""It says nothing that the schemas beside it don't say."""

ADVICE = "A payload in use may only gain optional fields. Take the change back, or make a v2 on a new subject."


def breaking_changes(old: Schemas, new: Schemas) -> list[str]:
    """What of `old` no longer holds in `new`; both are file name → schema. Empty: the change may go out."""
    return [str(finding) for finding in _findings(old, new) if finding.breaking]


def notices(old: Schemas, new: Schemas) -> list[str]:
    """What is allowed, but would surprise a reader that still knows only `old`: roll out the readers first."""
    return [str(finding) for finding in _findings(old, new) if not finding.breaking]


def _findings(old: Schemas, new: Schemas) -> Iterator[Finding]:
    for name in sorted(old):
        if name in new:
            yield from differences(name, old[name], new[name])
        else:
            yield Finding(name, "$", "schema removed", old[name].get("title", name), ABSENT, breaking=True)


def read_folder(folder: Path) -> Schemas:
    """Every schema below `folder`; LookupError if there is none."""
    files = [path for path in sorted(folder.rglob("*.json")) if path.name != NOT_A_SCHEMA]
    schemas = {path.relative_to(folder).as_posix(): json.loads(path.read_text(encoding="utf-8")) for path in files}
    if not schemas:
        raise LookupError(f"expected schemas (*.json) in {folder}, and there are none")
    return schemas


def read_git(root: Path, ref: str) -> Schemas:
    """The schemas as they were at `ref`; LookupError, with git's own words, if it has none."""
    # Nothing here comes from outside: a developer or CI names the commit, and git is the one on their PATH.
    archive = subprocess.run(  # noqa: S603
        ["git", "-C", str(root), "archive", "--format=tar", f"{ref}:{SCHEMAS.as_posix()}"],  # noqa: S607
        capture_output=True,
    )
    if archive.returncode != 0:
        raise LookupError(f"there are no {SCHEMAS} at {ref} ({archive.stderr.decode().strip()})")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        files = {member.name: tar.extractfile(member) for member in tar if member.name.endswith(".json")}
        return {name: json.load(file) for name, file in files.items() if file is not None and name != NOT_A_SCHEMA}


def report(old: Schemas, new: Schemas) -> int:
    """Print the findings; 1 if one of them is breaking."""
    for notice in notices(old, new):
        sys.stdout.write(f"readers first: {notice}\n")
    broken = breaking_changes(old, new)
    for change in broken:
        sys.stdout.write(f"breaking: {change}\n")
    sys.stdout.write(f"{ADVICE}\n" if broken else f"compatible: {len(old)} schemas compared\n")
    return 1 if broken else 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m rota_contracts.tooling.compat", description=__doc__)
    parser.add_argument("old", nargs="?", type=Path, help="a folder of schemas")
    parser.add_argument("new", nargs="?", type=Path, help="a folder of schemas (default: this repository's)")
    parser.add_argument("--git-ref", metavar="REF", help="compare this repository with itself at a commit")
    options = parser.parse_args(arguments)
    if (options.old is None) == (options.git_ref is None):
        parser.error("expected either a folder of old schemas or --git-ref")
    try:
        new = read_folder(options.new or repository_root(Path.cwd()) / SCHEMAS)
        if options.old is not None:
            return report(read_folder(options.old), new)
        root = repository_root(Path.cwd())
    except (FileNotFoundError, LookupError) as error:
        parser.error(str(error))
    try:
        old = read_git(root, options.git_ref)
    except LookupError as reason:
        sys.stdout.write(f"skipped, nothing to compare with: {reason}\n")
        return 0
    return report(old, new)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
