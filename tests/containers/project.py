"""A Compose project of its own: the files of a clone, `.env` made from `.env.example`, free ports, nothing kept."""

import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from testcontainers.compose import DockerCompose
from testcontainers.core.docker_client import DockerClient

from rota_common.runtime.embedded_servers import free_port
from rota_contracts.catalog import SERVICES
from tests.containers.engine import MAY_TAKE_S, ROOT, docker, host_address

FILES = ("docker-compose.yml", "Dockerfile", ".dockerignore", ".env.example")
FOLDERS = ("requirements", "contracts", "libs", "services", "cli", "deploy/compose")
EXAMPLE = ROOT / ".env.example"
TAG = "compose-test"
"""Replaces no image of another project."""

STORES = ("nats", "mongo", "qdrant")
LONG_RUNNING = (*STORES, *SERVICES)
"""What keeps something or works; the mail catcher is there for trying out."""

BUILT_S = 1800.0
"""Without a cache, on a small machine."""

HEALTHY_S = 180.0
LOOK_S = 0.1
MIB = 1024**2


class Project:
    """`folder` becomes the clone; `ports`: a variable of `.env` → the port of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.admin_key = folder, uuid4().hex
        self.ports = {name: free_port() for name in re.findall(r"^(ROTA_\w+_PORT)=", EXAMPLE.read_text(), re.MULTILINE)}
        for name in FILES:
            shutil.copy(ROOT / name, folder / name)
        for name in FOLDERS:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        self._write_env()
        self._compose = DockerCompose(folder)

    @property
    def gateway(self) -> str:
        return f"http://127.0.0.1:{self.ports['ROTA_HTTP_PORT']}"

    @property
    def nats(self) -> str:
        return f"nats://127.0.0.1:{self.ports['ROTA_NATS_PORT']}"

    @property
    def mails(self) -> str:
        return f"http://127.0.0.1:{self.ports['ROTA_MAILS_PORT']}"

    def compose(self, *arguments: str, within: float = MAY_TAKE_S) -> str:
        return docker("compose", *arguments, cwd=self.folder, within=within)

    def up(self) -> float:
        """Start all, and wait until all are healthy; returns the seconds that it took."""
        began = time.monotonic()
        self._compose.start()
        return time.monotonic() - began

    def kill(self, service: str) -> None:
        """SIGKILL."""
        docker("kill", "--signal", "KILL", self._container(service))

    def start(self, service: str) -> float:
        """Start what was killed; returns the seconds until it is healthy."""
        began = time.monotonic()
        docker("start", self._container(service))
        self.until_healthy(service)
        return time.monotonic() - began

    def restart(self, service: str) -> float:
        """SIGTERM, and a new start; returns the seconds until it is healthy."""
        began = time.monotonic()
        self.compose("restart", service)
        self.until_healthy(service)
        return time.monotonic() - began

    def until_healthy(self, service: str) -> None:
        container, deadline = self._container(service), time.monotonic() + HEALTHY_S
        while (health := docker("inspect", "--format", "{{.State.Health.Status}}", container)) != "healthy":
            if time.monotonic() > deadline:
                said = self.compose("logs", "--no-color", "--tail", "20", service)
                raise TimeoutError(f"expected {service} to be healthy within {HEALTHY_S:g} s, it is {health}:\n{said}")
            time.sleep(LOOK_S)

    def healths(self) -> dict[str, str]:
        """Service → its health, of those that run."""
        return {str(one.Service): str(one.Health) for one in self._compose.get_containers()}

    def memory(self) -> dict[str, float]:
        """Service → MiB of its own: without pages of files, which the kernel may drop, and which are charged to the
        container that reads them first."""
        return {service: own_memory(one.stats(stream=False)) for service, one in self.containers()}

    def containers(self) -> list[tuple[str, Any]]:
        """Service and container, of those that run."""
        engine = DockerClient().client
        return [(str(one.Service), engine.containers.get(one.ID)) for one in self._compose.get_containers()]

    def add_feed_client(self, team: str, name: str) -> Path:
        """The file with its key."""
        module = "rota_common.nats_admin.feed_clients"
        add = ("python", "-m", module, "add", team, name, "--config", "/nats")
        file = self.folder / f"{name}.nk"
        file.write_text(self.compose("run", "--rm", "nats-config", *add))
        return file

    def add_gateways(self, ports: Mapping[str, int]) -> None:
        """Go on with the two gateways of `deploy/compose/two-gateways.yml`, each at its port; without their proxy."""
        published = {name: {"ports": [f"127.0.0.1:{port}:8080"]} for name, port in ports.items()}
        self.override(published, "deploy/compose/two-gateways.yml")
        self.compose("up", "--wait", *ports)

    def override(self, services: Mapping[str, Any], *files: str) -> None:
        """Go on with these files and what is set here beside `docker-compose.yml`."""
        (self.folder / "override.json").write_text(json.dumps({"services": services}))
        with (self.folder / ".env").open("a") as env:
            env.write(f"COMPOSE_FILE={':'.join(('docker-compose.yml', *files, 'override.json'))}\n")

    def down(self) -> None:
        """Remove the containers; what they keep stays."""
        self.compose("down")

    def remove(self) -> None:
        """With all that they keep."""
        self.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "5")

    def _container(self, service: str) -> str:
        return self.compose("ps", "--all", "--quiet", service)

    def _write_env(self) -> None:
        """As the README says: the example with a key of one's own and this machine as a receiver; and other ports."""
        given = {
            "ROTA_ADMIN_KEY": self.admin_key,
            "ROTA_ALLOW_PRIVATE_TARGETS": f"{host_address()}/32",
            **{name: str(port) for name, port in self.ports.items()},
        }
        text = _with_values(EXAMPLE.read_text(), given)
        own = f"COMPOSE_PROJECT_NAME=rota-test-{uuid4().hex[:8]}\nROTA_VERSION={TAG}\n"
        (self.folder / ".env").write_text(f"{text}\n{own}")


def own_memory(stats: Any) -> float:
    """MiB, of the engine's figures of a container."""
    kinds = stats["memory_stats"]["stats"]
    return float(kinds["rss"] if "rss" in kinds else kinds["anon"]) / MIB  # of control groups 1, and of 2


def _with_values(text: str, given: Mapping[str, str]) -> str:
    for name, value in given.items():
        text, changed = re.subn(rf"^{name}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
        assert changed == 1, f"expected one line {name}= in .env.example, got {changed}"
    return text


@contextmanager
def a_project(folder: Path) -> Iterator[Project]:
    """Built, and not started yet. Nothing of it stays but the images."""
    made = Project(folder)
    try:
        made.compose("build", "--quiet", within=BUILT_S)
        yield made
    finally:
        made.remove()
