"""Images: two builds of one service hold the same files."""

import re
import uuid

import pytest

from tests.containers.engine import ROOT, docker, plain_environment

SERVICE = "validator"
OF_THE_ENGINE = {"etc/hostname", "etc/hosts", "etc/resolv.conf"}
"""Files that a running container gets from its engine."""

LIST = r'cd / && find app etc usr var \( -type f -exec sha256sum {} + \) -o -type l -printf "%l  %p\n"'


def files_of_a_build() -> dict[str, str]:
    """Path → its digest, or where it points to. The image is built without earlier layers, and removed."""
    tag = f"rota/{SERVICE}:{uuid.uuid4().hex}"
    docker("build", "--quiet", "--no-cache", "--build-arg", f"SERVICE={SERVICE}", "--tag", tag, ".", cwd=ROOT)
    try:
        listed = docker("run", "--rm", "--user", "0", "--entrypoint", "sh", tag, "-c", LIST)
    finally:
        docker("image", "rm", tag)
    found = dict(reversed(re.split(r"\s+", line, maxsplit=1)) for line in listed.splitlines())
    return {path: what for path, what in found.items() if path not in OF_THE_ENGINE}


@pytest.mark.usefixtures("engine")
def test_two_builds_of_an_image_have_the_same_files() -> None:
    with plain_environment():
        first, second = files_of_a_build(), files_of_a_build()
    assert len(first) > 1_000
    assert [path for path in first | second if first.get(path) != second.get(path)] == []
