"""SBOMs: what a service's requirements pin and our own packages, each required by another, the same bytes each time."""

import json
import os
import subprocess
import sys

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from requirements.sbom import sbom
from rota_contracts.catalog import SERVICES
from rota_contracts.version import VERSION
from tests.architecture.sources import ROOT
from tests.architecture.test_requirements import pinned


def reached(edges: dict[str, list[str]], start: str) -> set[str]:
    found: set[str] = set()
    left = [start]
    while left:
        if (ref := left.pop()) not in found:
            found.add(ref)
            left += edges[ref]
    return found


def test_an_sbom_names_what_is_pinned_and_our_own_packages(subtests: pytest.Subtests) -> None:
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    for service in SERVICES:
        with subtests.test(service):
            text = sbom(service)
            assert validator.validate_str(text) is None
            written = json.loads(text)
            parts = [written["metadata"]["component"], *written["components"]]
            ours = dict.fromkeys((f"rota-{service}", "rota-common", "rota-contracts"), VERSION)
            assert {part["name"]: part["version"] for part in parts} == pinned(service) | ours
            assert {part["name"] for part in parts if "purl" not in part} == set(ours), "we are in no index"
            edges = {one["ref"]: one.get("dependsOn", []) for one in written["dependencies"]}
            assert reached(edges, parts[0]["bom-ref"]) == {part["bom-ref"] for part in parts}
            assert "://" not in text.replace(written["$schema"], ""), "where packages come from is the machine's"


def test_an_sbom_has_the_same_bytes_each_time() -> None:
    command = [sys.executable, "requirements/sbom.py", "executor"]
    made = [
        subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True)
        for seed in ("1", "2")
    ]
    assert made[0].stdout == made[1].stdout == sbom("executor").encode()
