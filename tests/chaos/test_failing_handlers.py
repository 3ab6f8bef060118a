"""Handlers of all services that fail now and then, before or after their work: nothing lost, nothing doubled (F1)."""

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rota.api_error import ApiError
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime
from rota_common.testing.chaos import failing
from rota_contracts.messages.execution import ExecStatus, Execution
from tests.integration.path.harness import System, a_system, example

LEADS = 12
pytestmark = pytest.mark.soak


async def finished(system: System, started: dict[str, Any]) -> Execution:
    """Reading fails now and then too: the gateway answers 503, and the next request succeeds."""
    while True:
        try:
            return await system.ended(started)
        except ApiError as error:
            if error.status != 503:
                raise


@pytest.mark.parametrize("seed", [1, 2])
async def test_failing_handlers_lose_nothing_and_double_nothing(
    tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str, seed: int
) -> None:
    runtime = Runtime(random=Random(seed), middlewares=(failing(0.15, Random(seed)),))
    async with a_system(
        tmp_path / "rota", nats_url=nats.url, mongo_url=mongo_url, mongo_prefix=mongo_prefix, runtime=runtime
    ) as system:
        robot = example("lead-processor", system.hooks.url)
        robot["robot_config"]["quota"] = {"max": LEADS, "queue": LEADS}
        await system.api.create_robot(robot)
        started = [(await system.post_lead(f"lead-{number}"))["triggers"][0] for number in range(LEADS)]
        ended = await asyncio.gather(*(finished(system, each) for each in started))
        assert {run.status for run in ended} == {ExecStatus.COMPLETED}, [run.error for run in ended]
        assert len({run.execution_id for run in ended}) == LEADS
        async with asyncio.timeout(60):  # a delivery whose first attempt failed outlives its run
            await system.hooks.wait(LEADS)
            await system.mails.wait(LEADS)
        assert sorted(hook.id for hook in system.hooks.received) == sorted({hook.id for hook in system.hooks.received})
        assert len(system.hooks.received) == LEADS
        assert len(system.mails.received) == LEADS
        assert await system.admin.dead() == []
