"""A running Rota for the tests of a module, and a gateway with stand-ins for those of what it is asked."""

import base64
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from rota_common.runtime.embedded_servers import EmbeddedServer
from tests.integration.cli.kit import TIMEOUT_S, Rota, Up, start_up
from tests.integration.cli.world import World, a_world


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


@pytest_asyncio.fixture
async def world(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(nats, mongo_url, mongo_prefix, tmp_path) as made:
        yield made
