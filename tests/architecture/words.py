"""The rule of words: names that were replaced, and words that no text uses.

`python -m tests.architecture.words` counts what is left in each folder; with paths it lists them all.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from bisect import bisect_right
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
    "contracts/baseline.json",  # what was released
    "contracts/examples/",  # what people and models write, not what Rota says
    "services/executor/src/executor/agents/",  # prompts: what a model reads is behaviour
    "tests/architecture/renamed.py",
    "tests/architecture/words.py",
    "tests/architecture/test_words.py",
)
BANNED_WORDS = {
    word: (re.compile(rf"(?<![A-Za-z]){word}(?![A-Za-z])", re.IGNORECASE), better) for word, better in BANNED.items()
}
BANNED_WORDS["told"] = (
    # A turn's field on the wire: `turn.told`, `told=`, `told: str`, `"told"`.
    re.compile(r"""(?<![A-Za-z."'])told(?!["'=]|: str|[A-Za-z])""", re.IGNORECASE),
    BANNED["told"],
)
NAMED = [(name, re.compile(rf"(?<!\w){name}(?!\w)"), row) for row in NAMES for name in row.names]
FAKES = [(re.compile(rf"(?<!\w){pattern}(?!\w)"), better) for pattern, better in CLASSES.items()]
NAMED_FUNCTIONS = {name: row for row in FUNCTIONS for name in row.names}
NAMED_PARAMETERS = {name: row for row in PARAMETERS for name in row.names}
SCOPED = tuple(where for row in (*FUNCTIONS, *PARAMETERS) for where in row.where)
DEFINES = re.compile(rf"def (?:{'|'.join(NAMED_FUNCTIONS)})\(|[(,\s](?:{'|'.join(NAMED_PARAMETERS)}): ")
DISTINCT = re.compile(r"[a-z0-9]_[a-z]|[a-z][A-Z]")
BACKTICKED = re.compile(r"`[^`\n]+`")
Found = tuple[int, str, str]
"""Where in the text, the word, and the field's."""


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


def of_text(path: str, text: str) -> list[Offence]:
    starts = _starts(text)
    found = [*_banned(text), *_fakes(text), *_replaced(path, text, starts)]
    offences = [Offence(path, _spot(starts, at)[0], word, better) for at, word, better in sorted(found)]
    return [*offences, *_defined(path, text)] if path.endswith(".py") else offences


def _banned(text: str) -> Iterator[Found]:
    small = text.lower()
    for word, (pattern, better) in BANNED_WORDS.items():
        if word in small:
            yield from ((match.start(), match.group(), better) for match in pattern.finditer(text))
    if "tell" in text:
        yield from (
            (match.start(), "tell", "say what is published, returned or shown") for match in TELL.finditer(text)
        )


def _fakes(text: str) -> Iterator[Found]:
    for pattern, better in FAKES:
        yield from ((match.start(), match.group(), better) for match in pattern.finditer(text))


def _replaced(path: str, text: str, starts: list[int]) -> Iterator[Found]:
    names: set[tuple[int, int]] | None = None
    for name, pattern, row in NAMED:
        if name not in text or not path.startswith(row.where or ("",)):
            continue
        for match in pattern.finditer(text):
            if not DISTINCT.search(name):
                names = _names(path, text, starts) if names is None else names
                if _spot(starts, match.start()) not in names:
                    continue
            yield match.start(), name, row.better


def _starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _spot(starts: list[int], at: int) -> tuple[int, int]:
    line = bisect_right(starts, at)
    return line, at - starts[line - 1]


def _names(path: str, text: str, starts: list[int]) -> set[tuple[int, int]]:
    """Where a word is a name: a token of Python, or between backticks."""
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
    """Names that are ordinary words: replaced only as the name of a function or parameter."""
    if not path.startswith(SCOPED) or not DEFINES.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            kind, named, table = "function", node.name, NAMED_FUNCTIONS
        elif isinstance(node, ast.arg):
            kind, named, table = "parameter", node.arg, NAMED_PARAMETERS
        else:
            continue
        row = table.get(named)
        if row and path.startswith(row.where):
            yield Offence(path, node.lineno, f"{kind} {named}", row.better)


def folder(path: str) -> str:
    parts = path.split("/")[:-1]
    depth = 3 if parts[:1] in (["services"], ["tests"], ["libs"]) else 2
    return "/".join(parts[:depth]) or "."


def main(paths: list[str]) -> int:
    prefixes = tuple(path.removeprefix("./") for path in paths) or ("",)
    found = sorted(offences(name for name in files() if name.startswith(prefixes)))
    counts = Counter(folder(one.path) for one in found)
    lines = [str(one) for one in found] if paths else [f"{count:6} {name}" for name, count in counts.most_common()]
    sys.stdout.write("\n".join([*lines, f"{len(found):6} in all", ""]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
