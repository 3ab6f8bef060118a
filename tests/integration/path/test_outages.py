"""Outages of NATS and MongoDB: 503 and no lost 2xx; services wait, report it, and recover by themselves."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rota.api_error import ApiError
from rota_common import topology
from rota_common.runtime.embedded_servers import EmbeddedServer, mongod, nats_server
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.execution import ExecStatus
from tests.integration.path.harness import System, a_system, example

pytestmark = pytest.mark.soak

ROBOT = "lead-processor"


@pytest_asyncio.fixture
async def servers(tmp_path: Path) -> AsyncIterator[dict[str, EmbeddedServer]]:
    """Servers of this test, which kills them."""
    found = {"nats": nats_server(tmp_path / "nats"), "mongo": mongod(tmp_path / "mongo")}
    for server in found.values():
        await server.start()
    await topology.apply_to(found["nats"].url)
    yield found
    for server in found.values():
        await server.kill()


async def until_ready(system: System, *, ready: bool) -> None:
    async with asyncio.timeout(40):
        while (not await system.stack.problems()) is not ready:
            await asyncio.sleep(0.1)


async def post_until_refused(system: System) -> tuple[list[dict[str, Any]], ApiError]:
    """The gateway caches the source for 2 s and accepts what the bus stores. Five posts a second."""
    taken: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                taken.append((await system.post_lead(f"during-{len(taken)}"))["triggers"][0])
            except ApiError as error:
                return taken, error
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("down", ["nats", "mongo"])
async def test_during_an_outage_nothing_accepted_is_lost_and_services_recover(
    tmp_path: Path, servers: dict[str, EmbeddedServer], down: str
) -> None:
    async with a_system(
        tmp_path / "rota",
        nats_url=servers["nats"].url,
        mongo_url=servers["mongo"].url,
        mongo_prefix="outage",
    ) as system:
        robot = example(ROBOT, system.hooks.url)
        robot["robot_config"]["quota"] = {"max": 10, "queue": 10_000}
        await system.api.create_robot(robot)
        accepted = [(await system.post_lead(f"before-{n}"))["triggers"][0] for n in range(5)]
        await servers[down].kill()
        taken, refused = await post_until_refused(system)
        assert refused.status == 503
        accepted += taken  # what was answered with a 202 must not be lost
        assert not (taken and down == "nats")
        await until_ready(system, ready=False)
        problems = await system.stack.problems()
        needs = {"trigger-gateway", "scheduler", "executor", "delivery-center", "learner", "memory"}
        assert needs | ({"validator"} if down == "nats" else set()) <= set(problems)

        await servers[down].start()
        await until_ready(system, ready=True)
        accepted += [(await system.post_lead(f"after-{n}"))["triggers"][0] for n in range(3)]
        for started in accepted:
            over = await system.ended(started)
            assert over.status is ExecStatus.COMPLETED, over.error
        async with asyncio.timeout(60):  # a delivery whose first attempt failed outlives its run
            await system.hooks.wait(len(accepted))
        assert len({hook.id for hook in system.hooks.received}) == len(accepted)
