"""The project's Python files, parsed once, for the checks in this folder."""

import ast
import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {
    path.name: path
    for pattern in ("contracts/src/*", "libs/common/src/*", "services/*/src/*", "cli/src/*")
    for path in sorted(ROOT.glob(pattern))
    if path.is_dir() and path.name != "__pycache__"
}
"""Import name → folder of every package that is installed."""


@dataclass(frozen=True, eq=False)
class Source:
    """`name` is the path below the repository, `package` the import name of what it belongs to, or nothing."""

    name: str
    package: str
    tree: ast.Module
    text: str

    @property
    def stem(self) -> str:
        return Path(self.name).stem


def _read(found: Iterable[tuple[str, Path]]) -> tuple[Source, ...]:
    """Without the collector, which would look at millions of nodes that all stay."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        texts = [(package, path, path.read_text()) for package, path in found]
        return tuple(
            Source(str(path.relative_to(ROOT)), package, ast.parse(text), text) for package, path, text in texts
        )
    finally:
        if collecting:
            gc.enable()


@cache
def installed() -> tuple[Source, ...]:
    """What runs in production."""
    return _read((package, path) for package, folder in PACKAGES.items() for path in sorted(folder.rglob("*.py")))


@cache
def all_sources() -> tuple[Source, ...]:
    """The above, and tests, benchmarks and examples."""
    rest = [
        path
        for pattern in (
            "*.py",
            "contracts/tests",
            "libs/*/tests",
            "services/*/tests",
            "cli/tests",
            "tests",
            "bench",
            "examples",
            "requirements",
        )
        for found in sorted(ROOT.glob(pattern))
        for path in ([found] if found.is_file() else sorted(found.rglob("*.py")))
    ]
    return installed() + _read(("", path) for path in rest)


Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def nodes(source: Source) -> tuple[ast.AST, ...]:
    """All nodes of its tree: walked once, however many checks look at them."""
    found: list[ast.AST] = []
    left: list[ast.AST] = [source.tree]
    while left:
        node = left.pop()
        found.append(node)
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                left.append(value)
            elif isinstance(value, list):
                left.extend(child for child in value if isinstance(child, ast.AST))
    return tuple(found)


def statements(source: Source) -> Iterator[ast.AST]:
    """Statements, without a look at expressions."""
    left: list[ast.AST] = [source.tree]
    while left:
        node = left.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            left.extend(getattr(node, block, ()))


def functions(source: Source) -> Iterator[Function]:
    return (node for node in statements(source) if isinstance(node, Function))


def classes(source: Source) -> Iterator[ast.ClassDef]:
    return (node for node in statements(source) if isinstance(node, ast.ClassDef))


def calls(source: Source) -> Iterator[tuple[int, str]]:
    """Line and dotted name of whatever is called: `self.bus.broker.subscriber` for `self.bus.broker.subscriber(…)`."""
    for node in nodes(source):
        if isinstance(node, ast.Call):
            yield node.lineno, dotted(node.func)


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "()"


def imports(source: Source) -> Iterator[tuple[int, str]]:
    """Line and full name of whatever is imported, at the top or anywhere."""
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module
