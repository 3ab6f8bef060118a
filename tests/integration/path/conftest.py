"""The whole system on real servers, once with every message handled once and once with every message handled twice."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime
from rota_common.testing.chaos import twice
from tests.integration.path.whole import Whole, whole


@pytest.fixture(params=[(), (twice,)], ids=["once", "twice"])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    return Runtime(fetch_timeout=0.3, middlewares=request.param)


@pytest_asyncio.fixture
async def system(
    tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str, runtime: Runtime
) -> AsyncIterator[Whole]:
    async with whole(
        tmp_path / "rota", nats_url=nats.url, mongo_url=mongo_url, mongo_prefix=mongo_prefix, runtime=runtime
    ) as system:
        yield system
