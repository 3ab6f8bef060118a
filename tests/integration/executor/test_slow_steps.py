"""Steps that outlast every patience, and workers that sleep through their claim and wake up (F9)."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rota_common.runtime.embedded_servers import EmbeddedServer, free_port
from rota_common.testing.bus import short_ack_wait, stored
from rota_common.testing.openai_server import OpenAIServer, openai_server
from rota_common.testing.patience import PATIENCE_S
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecStatus
from tests.integration.executor.fixtures import ANSWERS, Script
from tests.integration.executor.harness import KEY, Harness, kinds, scripted

SCORING = "run: Score it"

pytestmark = pytest.mark.soak


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(Script()) as server:
        yield server


@pytest.fixture
async def settings(tmp_path: Path, model: OpenAIServer, nats: EmbeddedServer) -> dict[str, Any]:
    """With an ack wait of a second."""
    await short_ack_wait(nats.url, "executor")
    return scripted(tmp_path / "connectors", model.url)


@asynccontextmanager
async def a_process(system: Harness, model: OpenAIServer, folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """An executor in a process of its own, with a claim of a second."""
    nats_url, mongo_url, prefix = (str(system._urls[name]) for name in ("nats_url", "mongo_url", "mongo_prefix"))
    own = {
        "ROTA_NATS_URL": nats_url,
        "ROTA_MONGO_URL": mongo_url,
        "ROTA_MONGO_PREFIX": prefix,
        "ROTA_HTTP_HOST": "127.0.0.1",
        "ROTA_HTTP_PORT": str(free_port()),
        "ROTA_CONNECTOR": "scripted",
        "ROTA_CONNECTORS_DIR": str(folder / "connectors"),
        "ROTA_LEASE": "1",
        "ROTA_SWEEP_INTERVAL": "0.1",
        "MODEL_HOST": model.url,
        "MODEL_KEY": KEY,
    }
    with (folder / "executor.log").open("wb") as log:
        made = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "executor", env=os.environ | own, stdout=log, stderr=log
        )
    try:
        yield made
    finally:
        if made.returncode is None:
            made.kill()
        await made.wait()


# F2
@pytest.mark.once
async def test_a_step_that_takes_ten_times_the_ack_wait_runs_once(
    system: Harness, model: OpenAIServer, settings: dict[str, Any]
) -> None:
    script = Script(SCORING)
    model.script = script
    claims = settings | {"lease": 5.0}  # outlasted twice; both replicas share an event loop that may stall for seconds
    async with system.executor(**claims), system.executor(**claims):
        await system.request()
        await script.reached.wait()
        await asyncio.sleep(10)  # nothing happens: there is no event to wait for
        script.go.set()
        done = await system.over()
    assert done.status is ExecStatus.COMPLETED
    assert kinds(model) == dict.fromkeys(ANSWERS, 1)
    assert len(await stored(system.nats_url, catalog.EXECUTION_FINISHED)) == 1


# F2
@pytest.mark.once
async def test_a_worker_that_slept_through_its_claim_changes_nothing_when_it_wakes(
    system: Harness, model: OpenAIServer, settings: dict[str, Any], tmp_path: Path
) -> None:
    script = Script(SCORING)
    model.script = script
    async with a_process(system, model, tmp_path) as sleeper:
        await system.request()
        await asyncio.wait_for(script.reached.wait(), 60)
        sleeper.send_signal(signal.SIGSTOP)
        async with system.executor(**settings):
            await system.finished()
        log = tmp_path / "executor.log"
        sleeper.send_signal(signal.SIGCONT)  # its own call of the model is still under way
        done = await system.over()
        script.go.set()
        async with asyncio.timeout(PATIENCE_S):
            while "another worker's by now" not in log.read_text(errors="replace"):
                await asyncio.sleep(0.05)
        assert await system.execution() == done
    assert (done.status, [result.status for result in done.results]) == (ExecStatus.COMPLETED, ["completed"] * 2)
    assert kinds(model) == dict.fromkeys(ANSWERS, 1) | {SCORING: 2}
    for channel in (catalog.EXECUTION_STARTED, catalog.DELIVERY_REQUESTED, catalog.EXECUTION_FINISHED):
        assert len({event.id for event in await stored(system.nats_url, channel)}) == 1
