"""One stack per module, and in the long proofs one that handles every message twice; a team per test."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
import pytest_asyncio

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime
from rota_common.testing.chaos import twice
from tests.integration.path.harness import StackWithMail, System, a_stack, a_team

DOUBLED = pytest.param((twice,), id="twice", marks=pytest.mark.soak)


@pytest.fixture(scope="module", params=[pytest.param((), id="once"), DOUBLED])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    return Runtime(middlewares=request.param)


@pytest.fixture(scope="module")
def prefix(mongo_server: EmbeddedServer, mongo_prefixes: dict[str, str]) -> str:
    """The prefix of the module's databases."""
    made = f"t{uuid4().hex[:12]}"
    mongo_prefixes[made] = mongo_server.url
    return made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(
    shared_nats: EmbeddedServer,
    mongo_server: EmbeddedServer,
    prefix: str,
    runtime: Runtime,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[StackWithMail]:
    folder = tmp_path_factory.mktemp("rota")
    servers = {"nats_url": shared_nats.url, "mongo_url": mongo_server.url, "mongo_prefix": prefix}
    async with a_stack(folder, **servers, runtime=runtime) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def system(stack: StackWithMail) -> AsyncIterator[System]:
    async with a_team(stack, f"team-{uuid4().hex[:8]}") as made:
        yield made
