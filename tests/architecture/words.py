"""The rule of words: names that were replaced, and words that no text uses. `python -m tests.architecture.words [PATH…]`.

Without a path: how many are left in each folder. With paths: each of them, with its line and the field's word.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.architecture.renamed import BANNED, CLASSES, FUNCTIONS, MODULES, NAMES, PARAMETERS, TELL

ROOT = Path(__file__).parents[2]
TEXTS = ("py", "md", "json", "yaml", "yml", "toml", "conf", "sh", "mjs", "example", "Makefile", "Dockerfile", "run")
EXEMPT = (
    "CHANGELOG.md",  # history
    "requirements/",
    "contracts/examples/",  # what people and models write, not what Rota says
    "services/executor/src/executor/agents/",  # prompts: what a model reads is behaviour
    "tests/architecture/renamed.py",
)
FIRST_WORD = {name: (row.better, row.where) for row in NAMES for name in row.names}
NAMED_FUNCTIONS = {name: (row.better, row.where) for row in FUNCTIONS for name in row.names}
NAMED_PARAMETERS = {name: (row.better, row.where) for row in PARAMETERS for name in row.names}
PROSE = re.compile(
    rf"(?<![A-Za-z])(?P<banned>{'|'.join(BANNED)})(?![A-Za-z])|{TELL}|(?<!\w)(?P<name>{'|'.join(FIRST_WORD)})(?!\w)"
    rf"|(?<!\w)(?P<fake>{'|'.join(CLASSES)})(?!\w)",
    re.IGNORECASE,
)
DEFINES = re.compile(rf"(?<!\w)(?:{'|'.join((*NAMED_FUNCTIONS, *NAMED_PARAMETERS))})(?!\w)")
DISTINCT = re.compile(r"[a-z0-9]_[a-z]|[a-z][A-Z]")
BACKTICKED = re.compile(r"`[^`\n]+`")


@dataclass(frozen=True, order=True)
class Offence:
    path: str
    line: int
    found: str
    better: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found} → {self.better}"


@cache
def files() -> tuple[str, ...]:
    """The texts of the repository, and those that `git add` would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return tuple(
        sorted(
            name
            for name in set(listed)
            if re.split(r"[./]", name)[-1] in TEXTS and not name.startswith(EXEMPT) and (ROOT / name).is_file()
        )
    )


def offences(names: Iterable[str]) -> Iterator[Offence]:
    for name in names:
        yield from of_path(name)
        yield from of_text(name, (ROOT / name).read_text())


def of_path(name: str) -> Iterator[Offence]:
    parts = name.removesuffix(".py").split("/")
    for row in MODULES:
        if name.startswith(row.where or ("",)) and (found := [one for one in row.names if one in parts[1:]]):
            yield Offence(name, 1, f"module {found[0]}", row.better)


def of_text(path: str, text: str) -> Iterator[Offence]:
    spots: set[tuple[int, int]] | None = None
    starts = _starts(text)
    for match in PROSE.finditer(text):
        found = match.group()
        line, column = _spot(starts, match.start())
        if match.lastgroup in ("banned", "tell"):
            yield Offence(path, line, found, BANNED.get(found.lower(), "say what is published, returned or shown"))
            continue
        if match.lastgroup == "fake":
            if found[0].isupper() and (better := _fake(found)):
                yield Offence(path, line, found, better)
            continue
        better, where = FIRST_WORD.get(found, ("", ()))
        if not better or not path.startswith(where or ("",)):
            continue
        if not DISTINCT.search(found):
            spots = _names(path, text) if spots is None else spots
            if (line, column) not in spots:
                continue
        yield Offence(path, line, found, better)
    if path.endswith(".py") and DEFINES.search(text):
        yield from _defined(path, text)


def _fake(found: str) -> str:
    return next((better for pattern, better in CLASSES.items() if re.fullmatch(pattern, found)), "")


def _starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _spot(starts: list[int], at: int) -> tuple[int, int]:
    low, high = 0, len(starts)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if starts[middle] <= at else (low, middle)
    return low + 1, at - starts[low]


def _names(path: str, text: str) -> set[tuple[int, int]]:
    """Where a word is a name: a token of Python, or between backticks."""
    starts = _starts(text)
    found = {
        _spot(starts, ticked.start() + word.start())
        for ticked in BACKTICKED.finditer(text)
        for word in re.finditer(r"\w+", ticked.group())
    }
    if path.endswith(".py"):
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        found |= {token.start for token in tokens if token.type == tokenize.NAME}
    return found


def _defined(path: str, text: str) -> Iterator[Offence]:
    """Names that are ordinary words: banned only as the name of a function or parameter."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            kind, named, table = "function", node.name, NAMED_FUNCTIONS
        elif isinstance(node, ast.arg):
            kind, named, table = "parameter", node.arg, NAMED_PARAMETERS
        else:
            continue
        better, where = table.get(named, ("", ()))
        if better and path.startswith(where):
            yield Offence(path, node.lineno, f"{kind} {named}", better)


def folder(path: str) -> str:
    parts = path.split("/")[:-1]
    depth = 3 if parts[:1] in (["services"], ["tests"], ["libs"]) else 2
    return "/".join(parts[:depth]) or "."


def main(paths: list[str]) -> int:
    wanted = [
        name for name in files() if not paths or name.startswith(tuple(path.removeprefix("./") for path in paths))
    ]
    found = sorted(offences(wanted))
    if paths:
        print(*found, sep="\n")
    else:
        counts = Counter(folder(one.path) for one in found)
        print(*(f"{count:6} {name}" for name, count in counts.most_common()), sep="\n")
    print(f"{len(found):6} in all")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
