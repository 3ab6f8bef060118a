"""Images: two builds of one service hold the same files, and an image says what it is and what is in it."""

import json
import re
import subprocess
import uuid
from collections.abc import Iterator

import pytest

from requirements.sbom import sbom
from rota_contracts.version import VERSION
from tests.containers.engine import MAY_TAKE_S, ROOT, docker, plain_environment

SERVICE = "validator"
OF_THE_ENGINE = {"etc/hostname", "etc/hosts", "etc/resolv.conf"}
"""Files that a running container gets from its engine."""

LIST = r'cd / && find app etc usr var \( -type f -exec sha256sum {} + \) -o -type l -printf "%l  %p\n"'


@pytest.fixture(scope="module")
def image(engine: None) -> Iterator[str]:
    """Made by `make images`, under a name of its own, and removed."""
    repository = f"rota/{uuid.uuid4().hex}"
    command = ["make", "--silent", "images", f"SERVICES={SERVICE}", f"REPOSITORY={repository}"]
    with plain_environment():
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=MAY_TAKE_S)
        tag = f"{repository}/{SERVICE}:{VERSION}"
        yield tag
        docker("image", "rm", tag)


@pytest.fixture
def another(image: str) -> Iterator[str]:
    """Built without earlier layers, and removed."""
    tag = f"{image}-another"
    docker("build", "--quiet", "--no-cache", "--build-arg", f"SERVICE={SERVICE}", "--tag", tag, ".", cwd=ROOT)
    yield tag
    docker("image", "rm", tag)


def files_of(image: str) -> dict[str, str]:
    """Path → its digest, or where it points to."""
    listed = docker("run", "--rm", "--user", "0", "--entrypoint", "sh", image, "-c", LIST)
    found = dict(reversed(re.split(r"\s+", line, maxsplit=1)) for line in listed.splitlines())
    return {path: what for path, what in found.items() if path not in OF_THE_ENGINE}


def test_two_builds_of_an_image_have_the_same_files(image: str, another: str) -> None:
    first, second = files_of(image), files_of(another)
    assert len(first) > 1_000
    assert [path for path in first | second if first.get(path) != second.get(path)] == []


def test_an_image_says_what_it_is_and_what_is_in_it(image: str) -> None:
    within = docker("run", "--rm", "--entrypoint", "cat", image, "/app/sbom.cdx.json")
    assert within == sbom(SERVICE).strip()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
    labels = json.loads(docker("image", "inspect", "--format", "{{json .Config.Labels}}", image))
    said = {key.removeprefix("org.opencontainers.image."): value for key, value in labels.items()}
    assert said["description"]
    assert said["revision"].removesuffix("-dirty") == head.stdout.strip()
    subject = json.loads(within)["metadata"]["component"]
    (license,) = subject["licenses"]
    assert (said["title"], said["version"], said["licenses"]) == (
        subject["name"],
        subject["version"],
        license["expression"],
    )
