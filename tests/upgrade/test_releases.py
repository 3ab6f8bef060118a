"""A release: one version for all packages, the same bytes at every build, and what names the last one."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from rota_contracts.catalog import SERVICES
from rota_contracts.tooling.baseline import BASELINE, read_baseline
from rota_contracts.version import VERSION, beside
from tests.upgrade.releases import ROOT, releases

PACKAGES = [ROOT / "contracts", ROOT / "libs/common", ROOT / "cli", *sorted((ROOT / "services").iterdir())]


def test_every_package_has_its_version_from_the_one_place() -> None:
    found = {}
    for package in PACKAGES:
        declared = tomllib.loads((package / "pyproject.toml").read_text())
        said = (package / declared["tool"]["hatch"]["version"]["path"]).resolve()
        found[package.name] = (declared["project"].get("dynamic"), said)
    one = (["version"], ROOT / "contracts/src/rota_contracts/version.py")
    assert {name: place for name, place in found.items() if place != one} == {}


def test_what_names_the_last_release_names_the_same() -> None:
    last = releases()[-1].version
    overlay = (ROOT / "deploy/k8s/overlays/production/kustomization.yaml").read_text()
    released = last if "dev" in VERSION else VERSION
    assert set(re.findall(r'newTag: "(.+)"', overlay)) == {released}
    assert read_baseline(ROOT / BASELINE).version == last
    assert f"## [{released}]" in (ROOT / "CHANGELOG.md").read_text()
    assert beside(last, VERSION), "an upgrade from the last release must be possible"


@pytest.mark.soak
def test_two_builds_of_a_release_are_the_same_bytes(tmp_path: Path) -> None:
    sums = []
    for name in ("first", "second"):
        command = ["make", "--silent", "release", f"DIST={tmp_path / name}"]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=600)
        sums.append((tmp_path / name / "SHA256SUMS").read_text())
    assert sums[0] == sums[1]
    names = {line.split()[1] for line in sums[0].splitlines()}
    wheels = {name for name in names if name.endswith(".whl")}
    assert len(wheels) == len(PACKAGES)
    assert {name.split("-")[1] for name in wheels} == {VERSION}
    assert names - wheels == {f"rota-{service}.cdx.json" for service in SERVICES}
