"""A running Rota for the tests of a module, or a gateway with stand-ins behind it."""

import base64
import secrets
import signal
from collections.abc import Iterator
from uuid import uuid4

import pytest

from rota_common.runtime.embedded_servers import EmbeddedServer
from tests.integration.cli.harness import Beside, Rota, System, Up, a_system, entered, start_up


@pytest.fixture(scope="module")
def rota(tmp_path_factory: pytest.TempPathFactory) -> Rota:
    secret = f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"
    return Rota(tmp_path_factory.mktemp("home"), {"LEADS_SECRET": secret, "SALES_WEBHOOK_SECRET": secret})


@pytest.fixture(scope="module")
def running(rota: Rota, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A `rota up` for the tests of a module."""
    names = ("--secret", "LEADS_SECRET", "--secret", "SALES_WEBHOOK_SECRET")
    up = start_up(rota, tmp_path_factory.mktemp("data"), *names)
    yield up
    if up.process.poll() is None:
        up.end(signal.SIGTERM)


@pytest.fixture(scope="module")
def module_system(
    shared_nats: EmbeddedServer,
    mongo_server: EmbeddedServer,
    mongo_prefixes: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    beside: Beside,
) -> Iterator[System]:
    prefix = f"t{uuid4().hex[:12]}"
    mongo_prefixes[prefix] = mongo_server.url
    home = tmp_path_factory.mktemp("home")
    with entered(beside, a_system(shared_nats.url, mongo_server.url, prefix, home, beside)) as system:
        yield system


@pytest.fixture
def system(module_system: System) -> Iterator[System]:
    yield module_system
    module_system.reset()
