"""The executor's surroundings: see world.py."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from executor.adapters.litellm_model import LitellmModel
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.samples import a_robot
from tests.integration.executor.world import World


@pytest.fixture(scope="session", autouse=True)
def _litellm() -> None:
    """Its import takes seconds, and on a busy machine more than an answer may: no test is to begin with it."""
    asyncio.run(LitellmModel().load())


@pytest.fixture
async def world(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> AsyncIterator[World]:
    """Everybody but the executor is there, and one robot with two assistants."""
    async with World(nats.url, mongo_url, mongo_prefix).running() as made:
        await made.keep(a_robot(config={"resources": {"agents": ["experts.scorer", "experts.writer"]}}))
        yield made
