"""NATS or MongoDB away: 503 and never a lost 2xx; services wait, say so, and go on by themselves."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rota.client import ApiError
from rota_common import topology
from rota_common.runtime.embedded_servers import EmbeddedServer, mongod, nats_server
from rota_common.runtime.service import Runtime
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.execution import ExecStatus
from tests.integration.path.whole import Whole, example, whole

ROBOT = "lead-processor"


@pytest_asyncio.fixture
async def servers(tmp_path: Path) -> AsyncIterator[dict[str, EmbeddedServer]]:
    """Servers of this test alone: it ends them."""
    found = {"nats": nats_server(tmp_path / "nats"), "mongo": mongod(tmp_path / "mongo")}
    for server in found.values():
        await server.start()
    await topology.apply_to(found["nats"].url)
    yield found
    for server in found.values():
        await server.kill()


async def until_ready(system: Whole, *, ready: bool) -> None:
    async with asyncio.timeout(40):
        while (not await system.stack.problems()) is not ready:
            await asyncio.sleep(0.1)


async def post_until_refused(system: Whole) -> tuple[list[dict[str, Any]], ApiError]:
    """The gateway may know the source for 2 s more, and takes what the bus stores. Five posts a second."""
    taken: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                taken.append((await system.post_lead(f"during-{len(taken)}"))["triggers"][0])
            except ApiError as error:
                return taken, error
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("away", ["nats", "mongo"])
async def test_an_outage_refuses_what_it_would_lose_and_ends_by_itself(
    tmp_path: Path, servers: dict[str, EmbeddedServer], away: str
) -> None:
    async with whole(
        tmp_path / "rota",
        nats_url=servers["nats"].url,
        mongo_url=servers["mongo"].url,
        mongo_prefix="outage",
        runtime=Runtime(fetch_timeout=0.3),
    ) as system:
        robot = example(ROBOT, system.hooks.url)
        robot["robot_config"]["quota"] = {"max": 10, "queue": 10_000}
        await system.api.create_robot(robot)
        accepted = [(await system.post_lead(f"before-{n}"))["triggers"][0] for n in range(5)]
        await servers[away].kill()
        taken, refused = await post_until_refused(system)
        assert refused.status == 503
        accepted += taken  # what was answered with a 202 all the same must not be lost
        assert not (taken and away == "nats")
        await until_ready(system, ready=False)
        problems = await system.stack.problems()
        needs = {"trigger-gateway", "scheduler", "executor", "delivery-center", "learner", "memory"}
        assert needs | ({"validator"} if away == "nats" else set()) <= set(problems)

        await servers[away].start()
        await until_ready(system, ready=True)
        accepted += [(await system.post_lead(f"after-{n}"))["triggers"][0] for n in range(3)]
        for woken in accepted:
            over = await system.ended(woken)
            assert over.status is ExecStatus.COMPLETED, over.error
        assert len({hook.id for hook in system.hooks.received}) == len(accepted)
