"""`rota-contracts` is a package of its own: pydantic is all that comes with it, and it reads what travels."""

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.soak

ROOT = Path(__file__).parents[2]
PYDANTIC = {"annotated-types", "pydantic", "pydantic-core", "typing-extensions", "typing-inspection"}
READ = """
import json, pkgutil, sys
import rota_contracts
from importlib import import_module
for module in pkgutil.iter_modules(rota_contracts.__path__):
    import_module(f"rota_contracts.{module.name}")
from rota_contracts.catalog import DELIVERY_COMPLETED as CHANNEL
from rota_contracts.envelope import parse_event
given = json.load(sys.stdin)
body = json.dumps(given["data"]).encode()
event = parse_event(CHANNEL.payload, given["headers"], body, expected=CHANNEL.type)
print(event.id, event.data.result.content.summary)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment in which nothing but the package was installed."""
    folder = tmp_path_factory.mktemp("alone")
    venv.create(folder, with_pip=False)
    interpreter = folder / "bin" / "python"
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(interpreter)]
    subprocess.run([*install, str(ROOT / "contracts")], check=True, timeout=300)
    return interpreter


def test_it_brings_pydantic_and_nothing_else(python: Path) -> None:
    listed = [sys.executable, "-m", "uv", "pip", "list", "--format=json", "--python", str(python)]
    found = {each["name"] for each in json.loads(subprocess.run(listed, check=True, capture_output=True).stdout)}
    assert found - PYDANTIC == {"rota-contracts"}


def test_it_reads_an_event_in_a_program_outside(python: Path) -> None:
    example = (ROOT / "contracts/examples/delivery.completed/lead.json").read_text(encoding="utf-8")
    given = json.loads(example)
    done = subprocess.run(
        [str(python), "-I", "-c", READ], input=example, text=True, capture_output=True, check=False, timeout=60
    )
    summary = given["data"]["result"]["content"]["summary"]
    assert done.stdout == f"{given['headers']['ce-id']} {summary}\n", done.stderr
