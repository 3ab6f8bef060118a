"""The executor's surroundings: see system.py."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from executor.adapters.litellm_model import LitellmModel
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.samples import a_robot
from tests.integration.executor.harness import Harness


@pytest.fixture(scope="session", autouse=True)
def _litellm() -> None:
    """Its import takes seconds, and on a busy machine more than an answer may: no test is to begin with it."""
    asyncio.run(LitellmModel().load())


@pytest.fixture(autouse=True)
async def _own_clients() -> AsyncIterator[None]:
    """litellm keeps HTTP clients by the id of their event loop, and a new loop may have the id of one that is gone."""
    yield
    import litellm
    from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

    await close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()


@pytest.fixture
async def system(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Harness]:
    """Everybody but the executor is there, and one robot with two assistants."""
    async with Harness(nats.url, mongo_url, mongo_prefix).neighbours() as made:
        await made.keep(a_robot(config={"resources": {"agents": ["experts.scorer", "experts.writer"]}}))
        yield made
