"""The tree: the folders and files of the map, and what must not be in the repository at all."""

import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from rota_contracts.catalog import SERVICES
from tests.architecture.sources import PACKAGES, ROOT

FOLDERS = (
    "requirements", "contracts/src", "contracts/schemas", "contracts/examples", "libs/common/src", "cli/src",
    "deploy/k8s", "docs/decisions", "examples/robots", "bench", "tests/chaos", "tests/clock_year",
    "tests/conformance", "tests/integration", "tests/deploy", "tests/architecture",
)  # fmt: skip
FILES = ("README.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "Dockerfile", "docker-compose.yml", ".ci/run")
REGISTRY = re.compile(r'resolved": *"http|registry *= *"?http|--(extra-)?index-url|--(find-links)|://[^ "]*/simple\b')
HOME = re.compile(r"/(home|Users)/\w+/|/root/\w")
LARGEST = 1024 * 1024


@cache
def files() -> tuple[Path, ...]:
    """What is in the repository, or would be after `git add`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip(f"not a git repository, so its files can't be listed: {listed.stderr.strip()}")
    return tuple(path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file())


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in files():
        lines = path.read_text(errors="replace").splitlines()
        found += [f"{path.relative_to(ROOT)}: {line.strip()[:120]}" for line in lines if pattern.search(line)]
    return found


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_the_map_exists(name: str) -> None:
    assert (ROOT / name).is_dir()


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_map_exists(name: str) -> None:
    assert (ROOT / name).is_file()


def test_every_path_of_the_architecture_exists() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    paths = re.findall(r"`((?:services|libs|contracts|cli|tests)/[^`<]*)`", text)
    assert len(paths) > 30
    assert not [path for path in paths if not (ROOT / path).exists()]


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_one_package_with_an_entry_settings_and_one_place_that_composes_it(service: str) -> None:
    package = ROOT / "services" / service / "src" / service.replace("-", "_")
    for name in ("__main__.py", "app.py", "settings.py", "py.typed"):
        assert (package / name).is_file(), f"{service} has no {name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_of_others_see_our_annotations(package: str) -> None:
    assert (PACKAGES[package] / "py.typed").is_file()


def test_no_file_names_a_package_registry() -> None:
    found = lines_with(REGISTRY)
    assert not found, "where packages come from is the machine's setting, not the project's\n" + "\n".join(found)


def test_no_file_names_a_path_of_one_machine() -> None:
    found = lines_with(HOME)
    around = ROOT.parent
    if around not in (Path("/"), Path(tempfile.gettempdir())):
        found += lines_with(re.compile(re.escape(f"{around}/")))
    assert not found, "it would only work here: use a path relative to the repository\n" + "\n".join(found)


def test_no_file_is_large() -> None:
    found = [str(path.relative_to(ROOT)) for path in files() if path.stat().st_size > LARGEST]
    assert not found, "everyone who clones the repository downloads it for ever\n" + "\n".join(found)
