"""The specification's ids: each row of docs/specification.md with the tests that carry its id.

`python -m tests.architecture.specification` checks the document; `--write` renews its column of tests.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from tests.architecture.sources import ROOT, Source, all_sources, functions

DOCUMENT = ROOT / "docs/specification.md"
STATES = ("works", "partial", "planned")
MOST = 3
MODULE = 1000
OWN = "tests/architecture/test_specification.py"
CLIENTS = ("cli/", "tests/integration/cli/")
SYSTEM = "tests/integration/"
SERIES = "TG|SC|EX|VA|DC|LE|ME|CL|DEC"
FEATURE = r"(?P<feature>F[1-9]|F1\d|F2[0-5])"
ID = re.compile(rf"\b(?:(?P<series>{SERIES})-(?P<first>\d+)(?: to (?P=series)-(?P<last>\d+))?|{FEATURE})\b(?!%)")
ROW = re.compile(r"\| (?P<id>[A-Z]+-?\d+) \| (?P<asks>.+?) \| (?P<state>\w+) \| (?P<remark>.*?) ?\| (?P<tests>.*?) ?\|")


@dataclass(frozen=True)
class Row:
    """One line of the document. `tests` are `path::test_name`, or the path of a module whose docstring has the id."""

    id: str
    asks: str
    state: str
    remark: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        tests = "<br>".join(f"`{test}`" for test in self.tests)
        cells = (self.id, self.asks, self.state, self.remark, tests)
        return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"


def ids(text: str) -> Iterator[str]:
    """The ids in a text; `EX-01 to EX-03` are three."""
    for match in ID.finditer(text):
        if match["feature"]:
            yield match["feature"]
            continue
        first, last = int(match["first"]), int(match["last"] or match["first"])
        width = len(match["first"])
        yield from (f"{match['series']}-{number:0{width}}" for number in range(first, last + 1))


@cache
def carried() -> dict[str, tuple[str, ...]]:
    """Id → the tests that carry it: those that carry few first, modules and clients last."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for source in all_sources():
        if not source.stem.startswith("test_") or source.name == OWN:
            continue
        for id in set(ids(ast.get_docstring(source.tree) or "")):
            found[id][source.name] = MODULE
        for name, text in _tests(source):
            own = set(ids(text))
            for id in own:
                found[id][f"{source.name}::{name}"] = len(own)
    return {id: _ranked(tests) for id, tests in found.items()}


def _ranked(tests: dict[str, int]) -> tuple[str, ...]:
    def rank(test: str) -> tuple[bool, int, bool, str]:
        return test.startswith(CLIENTS), tests[test], not test.startswith(SYSTEM), test

    return tuple(sorted(tests, key=rank))


def _tests(source: Source) -> Iterator[tuple[str, str]]:
    """Each test function with its own text: the comments above it, its decorators and its body."""
    lines = source.text.splitlines()
    for node in functions(source):
        if node.name.startswith("test_"):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
            while first and lines[first - 1].lstrip().startswith("#"):
                first -= 1
            yield node.name, "\n".join(lines[first : node.end_lineno])


@cache
def rows() -> dict[str, Row]:
    lines = DOCUMENT.read_text().splitlines()
    return {match["id"]: read(match) for line in lines if (match := ROW.fullmatch(line))}


def read(match: re.Match[str]) -> Row:
    tests = tuple(re.findall(r"`([^`]+)`", match["tests"]))
    return Row(match["id"], match["asks"], match["state"], match["remark"], tests)


def problems() -> list[str]:
    return [*_unknown(), *(text for row in rows().values() for text in _wrong(row))]


def _unknown() -> list[str]:
    return [
        f"{source.name}:{source.text[: match.start()].count(chr(10)) + 1}: {id} isn't in docs/specification.md"
        for source in all_sources()
        for match in ID.finditer(source.text)
        for id in ids(match.group())
        if id not in rows()
    ]


def _wrong(row: Row) -> Iterator[str]:
    tests = carried().get(row.id, ())
    if row.state not in STATES:
        yield f"{row.id}: expected one of {', '.join(STATES)}, got {row.state}"
    if row.state == "works" and not tests:
        yield f"{row.id} works, and no test carries its id: put `# {row.id}` above the test that proves it"
    elif row.state == "works" and not row.tests:
        yield f"{row.id} works, and its row names no test"
    yield from (f"{row.id}: {test} doesn't exist or carries no {row.id}" for test in row.tests if test not in tests)


def renewed(row: Row) -> Row:
    """The row with the tests that it still can name, and others up to three, from other modules first."""
    able = carried().get(row.id, ())
    chosen = [test for test in row.tests if test in able][:MOST]
    for other_module in (True, False):
        for test in able:
            module = test.partition("::")[0]
            taken = any(one.startswith(module) for one in chosen) if other_module else test in chosen
            if len(chosen) < MOST and not taken:
                chosen.append(test)
    return replace(row, tests=tuple(chosen))


def write() -> None:
    lines = DOCUMENT.read_text().splitlines()
    new = [str(renewed(rows()[match["id"]])) if (match := ROW.fullmatch(line)) else line for line in lines]
    DOCUMENT.write_text("\n".join(new) + "\n")
    rows.cache_clear()


def main(arguments: list[str]) -> int:
    if "--write" in arguments:
        write()
    found = problems()
    sys.stdout.write("".join(f"{line}\n" for line in found) or "docs/specification.md agrees with the tests\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
