"""A running Rota for the tests of a module."""

import base64
import secrets
from collections.abc import Iterator

import pytest

from tests.integration.cli.kit import TIMEOUT_S, Rota, Up, start_up


@pytest.fixture(scope="module")
def rota(tmp_path_factory: pytest.TempPathFactory) -> Rota:
    secret = f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"
    return Rota(tmp_path_factory.mktemp("home"), {"LEADS_SECRET": secret, "SALES_WEBHOOK_SECRET": secret})


@pytest.fixture(scope="module")
def running(rota: Rota, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A `rota up` for the tests of a module."""
    up = start_up(rota, tmp_path_factory.mktemp("data"))
    yield up
    up.process.terminate()
    up.process.communicate(timeout=TIMEOUT_S)
