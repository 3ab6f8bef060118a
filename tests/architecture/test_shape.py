"""One shape for every service: its composition, its use cases, its constructors and its docstrings."""

import ast
import re
from collections.abc import Iterator

import pytest

from rota_contracts.catalog import SERVICES
from tests.architecture.sources import (
    ROOT,
    Function,
    Source,
    all_sources,
    classes,
    functions,
    imports,
    installed,
    nodes,
    statements,
)
from tests.architecture.specification import ID, SERIES

QUESTION_WORDS = re.compile(r"(What|Who|Whose|How|Where|Which|When|Why)\b")
PUBLISHED_ID = re.compile(rf"\b(?:{SERIES})-\d+\b|\(F\d+\b")
POSITIONAL = 2
ATTRIBUTES = 2


def use_case_modules() -> Iterator[Source]:
    return (
        source
        for source in installed()
        if source.name.startswith("services/") and not re.search(r"/(adapters|http|domain)/", source.name)
    )


def methods(kind: ast.ClassDef) -> dict[str, Function]:
    return {node.name: node for node in kind.body if isinstance(node, Function)}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def test_a_use_case_has_a_module_of_its_name() -> None:
    found = []
    for source in use_case_modules():
        callables = [kind.name for kind in classes(source) if "__call__" in methods(kind) and kind.name[0] != "_"]
        if len(callables) == 1 and snake(callables[0]) != source.stem:
            found.append(f"{source.name}: {callables[0]}, so {snake(callables[0])}.py")
    assert not found, "a use case is found by its name; small ones of one concern share a module\n" + "\n".join(found)


def positional(function: Function) -> int:
    return len(function.args.posonlyargs + function.args.args) - 1


def keyword_only(kind: ast.ClassDef) -> bool:
    """Whether its dataclass decorator says so."""
    return any(
        keyword.arg == "kw_only" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for decorator in kind.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
    )


def test_a_constructor_takes_two_positional_arguments_at_most() -> None:
    found = [
        f"{source.name}:{kind.lineno}: {kind.name} takes {count}"
        for source in installed()
        for kind in classes(source)
        if (made := methods(kind).get("__init__")) and (count := positional(made)) > POSITIONAL
    ]
    assert not found, "a call must name what it passes: put a * after the second\n" + "\n".join(found)


def test_a_use_case_takes_its_ports_by_keyword() -> None:
    found = [
        f"{source.name}:{kind.lineno}: {kind.name}"
        for source in use_case_modules()
        for kind in classes(source)
        if "__call__" in methods(kind) and "__init__" not in methods(kind)
        if sum(isinstance(node, ast.AnnAssign) for node in kind.body) > POSITIONAL and not keyword_only(kind)
    ]
    assert not found, "@dataclass(frozen=True, kw_only=True)\n" + "\n".join(found)


def test_attributes_are_assigned_one_by_one() -> None:
    found = [
        f"{source.name}:{node.lineno}"
        for source in all_sources()
        for node in statements(source)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)
        if sum(isinstance(target, ast.Attribute) for target in node.targets[0].elts) > ATTRIBUTES
    ]
    assert not found, "a dataclass, or an assignment for each\n" + "\n".join(found)


def awaits(tree: list[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Await) for statement in tree for node in ast.walk(statement))


def test_a_loop_of_a_service_leaves_its_release_to_the_service() -> None:
    found = [
        f"{source.name}:{node.lineno}: {function.name}"
        for source in installed()
        if source.name.startswith("services/")
        for function in functions(source)
        if any(isinstance(node, ast.While) for node in ast.walk(function))
        for node in ast.walk(function)
        if isinstance(node, ast.Try) and awaits(node.finalbody)
    ]
    hint = (
        "a stop cancels a loop again and again, so its `finally` is cut off: pass `release=` to every() or background()"
    )
    assert not found, f"{hint}\n" + "\n".join(found)


PARTS = {
    "handlers.py": "build_handlers",
    "ports.py": "Adapters",
    "adapters/real.py": "real",
    "adapters/in_memory.py": "in_memory",
}
"""Module of a service → the function or class that it must define."""


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_the_parts_of_every_service(service: str) -> None:
    folder = f"services/{service}/src/{service.replace('-', '_')}/"
    defined = {
        source.name.removeprefix(folder): {getattr(node, "name", "") for node in source.tree.body}
        for source in installed()
        if source.name.startswith(folder)
    }
    missing = [f"{part}: {name}" for part, name in PARTS.items() if name not in defined.get(part, ())]
    assert not missing, f"{folder} lacks\n" + "\n".join(missing)
    assert any("UseCases" in names for names in defined.values()), f"{folder} lacks the class UseCases"


def test_fakes_stay_out_of_production() -> None:
    found = [
        f"{source.name}:{line}: {name}"
        for source in installed()
        if "in_memory" not in source.stem and "/rota_common/testing/" not in source.name
        for line, name in imports(source)
        if re.search(r"\.in_memory|\.testing\b", name)
    ]
    assert not found, "what runs in production imports no fake\n" + "\n".join(found)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_built_from_settings_runtime_and_adapters(service: str) -> None:
    package = service.replace("-", "_")
    app = next(source for source in installed() if source.name == f"services/{service}/src/{package}/app.py")
    build = next(node for node in functions(app) if node.name == "build")
    assert [one.arg for one in build.args.posonlyargs + build.args.args] == ["settings"]
    assert {one.arg for one in build.args.kwonlyargs} - {"environ", "team_secrets"} == {"runtime", "adapters"}


def test_a_module_s_docstring_names_what_it_is() -> None:
    found = [
        f"{source.name}: {text.splitlines()[0]}"
        for source in all_sources()
        if (text := ast.get_docstring(source.tree)) and QUESTION_WORDS.match(text)
    ]
    assert not found, "noun first: “Signals: …”, “The circuit breaker of targets.”\n" + "\n".join(found)


def test_what_is_published_has_no_ids_of_the_specification() -> None:
    found = [
        f"{source.name}:{node.lineno}: {match.group()}"
        for source in installed()
        for node in nodes(source)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (match := PUBLISHED_ID.search(node.value))
    ]
    contracts = [source for source in installed() if source.package == "rota_contracts"]
    found += [f"{source.name}: {match.group()}" for source in contracts if (match := ID.search(source.text))]
    schemas = [(path, path.read_text()) for path in sorted((ROOT / "contracts/schemas").rglob("*.json"))]
    found += [f"{path.relative_to(ROOT)}: {match.group()}" for path, text in schemas if (match := ID.search(text))]
    assert not found, "an outside reader doesn't know them: they belong to tests and comments\n" + "\n".join(found)
