"""The executor's surroundings: see world.py."""

from collections.abc import AsyncIterator

import pytest

from rota_common.embedded import EmbeddedServer
from rota_common.testing.samples import a_robot
from tests.integration.executor.world import World


@pytest.fixture
async def world(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> AsyncIterator[World]:
    """Everybody but the executor is there, and one robot with two assistants."""
    async with World(nats.url, mongo_url, mongo_prefix).neighbours() as made:
        await made.keep(a_robot(config={"resources": {"agents": ["experts.scorer", "experts.writer"]}}))
        yield made
