"""The container engine, by its command line, and what is missing to run Rota in it."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
REQUIRED = "ROTA_REQUIRE_CONTAINERS"
"""Set to 1: what is missing is a failure, not a reason to skip."""

MAY_TAKE_S = 600
OWN = "rota/"
"""Images of this name are built, and not pulled."""


def docker(*arguments: str, cwd: Path | None = None, within: float = MAY_TAKE_S) -> str:
    """What the command prints. RuntimeError with what it says when it fails."""
    done = subprocess.run(["docker", *arguments], cwd=cwd, capture_output=True, text=True, timeout=within, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"docker {' '.join(arguments)}: {done.stderr.strip()[-3000:] or done.stdout[-3000:]}")
    return done.stdout.strip()


@contextlib.contextmanager
def plain_environment() -> Iterator[None]:
    """Without the variables that would go before a project's own `.env`; with the old builder where buildx isn't."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("ROTA_", "OPENAI_", "COMPOSE_"))]:
            patch.delenv(name)
        try:
            docker("buildx", "version", within=60)
        except RuntimeError:
            patch.setenv("DOCKER_BUILDKIT", "0")
        yield


def host_address() -> str:
    """The address of this machine that containers know as host.docker.internal."""
    return docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}")


def image_of(service: str) -> str:
    """The image that docker-compose.yml names."""
    return str(_services()[service]["image"])


def base_images() -> list[str]:
    """Those that are pulled: what the Dockerfile builds on, and what docker-compose.yml names and doesn't build."""
    on = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    started = [service["image"] for service in _services().values() if not service.get("profiles")]
    return sorted({*on, *started} - {image for image in started if image.startswith(OWN)})


def missing(images: list[str]) -> str:
    """What keeps containers of these images from running here; empty if nothing does. An image that isn't there is
    pulled."""
    if shutil.which("docker") is None:
        return "no container engine: the command `docker` isn't on PATH"
    for needed, command in (("container engine", ("version",)), ("Docker Compose 2", ("compose", "version"))):
        try:
            docker(*command, within=60)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return f"no {needed}: {error}"
    absent = [image for image in images if not _is_there(image)]
    return f"no base images {', '.join(absent)}: they are neither here nor can they be pulled" if absent else ""


def not_this_machine() -> str:
    """Why containers can't call this process; empty if they can."""
    address = host_address()
    try:
        with socket.create_server((address, 0)):
            return ""
    except OSError as error:
        return f"the engine isn't on this machine: can't listen on its bridge's address {address}: {error.strerror}"


def _is_there(image: str) -> bool:
    for command in (("image", "inspect", image), ("pull", "--quiet", image)):
        with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
            docker(*command)
            return True
    return False


def _services() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return services
