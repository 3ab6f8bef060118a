"""The SBOM of a service, CycloneDX JSON on stdout: what `requirements/<service>.txt` pins, and the packages of this
repository. One tree gives the same bytes each time: no serial number, no time."""

import argparse
import re
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
MADE_BY = "cyclonedx-python-lib"
PINNED = re.compile(r"^([\w.-]+==[^\\\n]+) \\\n((?: {4}.*\n?)+)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:(\w+)")
VIA = re.compile(r"^ {4}# +(?:via )?(?!via$)([\w.-]+)(?: \(.+\))?$", re.MULTILINE)
IMAGE = {
    "os_name": "posix",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "python_version": "3.11",
    "python_full_version": "3.11.0",
}
"""The platform of an image, whatever the SBOM is made on: what isn't installed there is `optional`."""


@dataclass(frozen=True)
class Part:
    """A package of the SBOM, and the names of those that require it or that it requires itself."""

    component: Component
    required_by: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


def sbom(service: str, root: Path = ROOT) -> str:
    """Its JSON, as of the tree below `root`. Raises ValueError if nothing is pinned for the service, KeyError if what
    is pinned was asked for by a package that isn't."""
    own = [_own(root / folder) for folder in (f"services/{service}", "libs/common", "contracts")]
    parts = {part.component.name: part for part in (*own, *_pinned(root / "requirements" / f"{service}.txt"))}
    edges = defaultdict(list)
    for name, part in parts.items():
        for parent in part.required_by:
            edges[parent].append(part.component)
        edges[name] += [parts[each].component for each in part.requires]
    subject = own[0].component
    subject.type = ComponentType.APPLICATION
    bom = Bom(components=[part.component for part in parts.values() if part.component is not subject])
    bom.metadata.component = subject
    for name, children in edges.items():
        bom.register_dependency(parts[name].component, children)
    return _written(bom)


def _own(folder: Path) -> Part:
    """A package of this repository. It has no package URL: it is in no index."""
    declared = tomllib.loads((folder / "pyproject.toml").read_text())
    project = declared["project"]
    component = Component(
        type=ComponentType.LIBRARY,
        name=project["name"],
        version=project.get("version") or _version(folder, declared["tool"]["hatch"]["version"]),
        bom_ref=project["name"],
        description=project["description"],
        licenses=[LicenseExpression(project["license"])],
    )
    names = (Requirement(line).name for line in project["dependencies"])
    return Part(component, requires=tuple(name for name in names if name.startswith("rota-")))


def _version(folder: Path, said: dict[str, str]) -> str:
    """What hatchling reads from the one place that says it."""
    found = re.search(said["pattern"], (folder / said["path"]).read_text())
    if found is None:
        raise ValueError(f"expected {said['pattern']} in {said['path']}, found nothing like it")
    return found["version"]


def _pinned(path: Path) -> list[Part]:
    found = [_third_party(*each) for each in PINNED.findall(path.read_text())]
    if not found:
        raise ValueError(f"expected lines like name==1.0 with hashes in {path}, found none: run `make lock`")
    return found


def _third_party(line: str, rest: str) -> Part:
    """A pinned package. Its hashes are those of its files, one for each platform, wherever they come from."""
    wanted = Requirement(line)
    (pin,) = wanted.specifier
    purl = PackageURL("pypi", name=wanted.name, version=pin.version)
    files = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(str(purl)),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in HASH.findall(rest)],
    )
    installed = wanted.marker is None or wanted.marker.evaluate(IMAGE)
    component = Component(
        type=ComponentType.LIBRARY,
        name=wanted.name,
        version=pin.version,
        bom_ref=str(purl),
        purl=purl,
        scope=None if installed else ComponentScope.OPTIONAL,
        external_references=[files],
    )
    return Part(component, required_by=tuple(VIA.findall(rest)))


def _written(bom: Bom) -> str:
    nothing: Any = None  # the library has no other way to leave these two out
    bom.serial_number = bom.metadata.timestamp = nothing
    bom.metadata.properties.add(Property(name="cdx:reproducible", value="true"))
    tool = Component(type=ComponentType.LIBRARY, group="CycloneDX", name=MADE_BY, version=version(MADE_BY))
    bom.metadata.tools.components.add(tool)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("service")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to read (default: the one around this file)")
    given = parser.parse_args()
    sys.stdout.write(sbom(given.service, given.root))


if __name__ == "__main__":
    main()
