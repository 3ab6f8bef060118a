"""`python -m rota_contracts.tooling.export`: writes the schemas of facts and robots, the AsyncAPI document of the feed,
docs/channels.md and docs/robot-fields.md."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rota_contracts.tooling.channels_page import channels_page
from rota_contracts.tooling.feed_asyncapi import feed_asyncapi
from rota_contracts.tooling.robot_fields_page import robot_fields_page
from rota_contracts.tooling.schemas import RPC, schemas

COMMAND = "python -m rota_contracts.tooling.export"
PROJECT = Path("contracts/pyproject.toml")
SCHEMAS = Path("contracts/schemas")
FEED_ASYNCAPI = Path("contracts/feed.asyncapi.json")
CHANNELS_PAGE = Path("docs/channels.md")
ROBOT_FIELDS_PAGE = Path("docs/robot-fields.md")


def repository_root(start: Path) -> Path:
    """The folder at or above `start` that holds contracts/pyproject.toml; FileNotFoundError if there is none."""
    for folder in (start, *start.parents):
        if (folder / PROJECT).is_file():
            return folder
    raise FileNotFoundError(f"expected {PROJECT} in {start} or above it: go into the repository, or give --root")


def exported() -> dict[Path, str]:
    """Path (relative to the root) → text of every generated file. The same models give the same bytes.

    Without the schemas of questions: only services of Rota ask them. The gateway serves them at /schemas.
    """
    documents = {SCHEMAS / name: _text(schema) for name, schema in schemas().items() if not name.startswith(RPC)}
    pages = {CHANNELS_PAGE: channels_page(), ROBOT_FIELDS_PAGE: robot_fields_page()}
    return documents | pages | {FEED_ASYNCAPI: _text(feed_asyncapi())}


def stale(root: Path, files: Mapping[Path, str]) -> list[Path]:
    """The files that differ from `files` or are missing, and schemas of messages that no longer exist."""
    outdated = [path for path, text in files.items() if not _holds(root / path, text)]
    return sorted([*outdated, *_left_over(root, files)])


def write(root: Path, files: Mapping[Path, str]) -> list[Path]:
    """Bring the stale files up to date; returns them."""
    changed = stale(root, files)
    for path in changed:
        if path in files:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(files[path], encoding="utf-8")
        else:
            (root / path).unlink()
    return changed


def _text(document: object) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def _left_over(root: Path, files: Mapping[Path, str]) -> list[Path]:
    found = (path.relative_to(root) for path in (root / SCHEMAS).rglob("*.json"))
    return [path for path in found if path not in files]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is not up to date")
    parser.add_argument("--root", type=Path, help="the repository (default: found from the current folder)")
    options = parser.parse_args(arguments)
    try:
        root = options.root or repository_root(Path.cwd())
    except FileNotFoundError as error:
        parser.error(str(error))
    files = exported()
    changed = stale(root, files) if options.check else write(root, files)
    for path in changed:
        sys.stdout.write(f"not up to date: {path}\n" if options.check else f"wrote {path}\n")
    if options.check and changed:
        sys.stdout.write(f"run: {COMMAND}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
