"""A gateway that stops behind a proxy: it answers until the proxy has taken it off its list."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import httpx

from rota_common.runtime.embedded_servers import EmbeddedServer, free_port
from rota_common.testing.patience import PATIENCE_S

DRAIN_S = 3
LOOK_S = 0.05


async def test_it_says_that_it_is_not_ready_and_answers_on(
    nats: EmbeddedServer, mongo_url: str, mongo_prefix: str, tmp_path: Path
) -> None:
    port = free_port()
    own = {
        "ROTA_NATS_URL": nats.url,
        "ROTA_MONGO_URL": mongo_url,
        "ROTA_MONGO_PREFIX": mongo_prefix,
        "ROTA_HTTP_HOST": "127.0.0.1",
        "ROTA_HTTP_PORT": str(port),
        "ROTA_DRAIN_SECONDS": str(DRAIN_S),
    }
    with (tmp_path / "log").open("wb") as log:
        command = (sys.executable, "-m", "trigger_gateway")
        process = await asyncio.create_subprocess_exec(*command, env=os.environ | own, stdout=log, stderr=log)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=5, trust_env=False) as http:
            await _until(http, lambda status: status == 200)
            process.send_signal(signal.SIGTERM)
            await _until(http, lambda status: status == 503)
            assert (await http.get("/v1/teams/acme/robots")).status_code == 401
        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == -signal.SIGTERM
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _until(http: httpx.AsyncClient, reached: Callable[[int], bool]) -> None:
    """Ask whether it is ready; while it starts, nothing answers."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                if reached((await http.get("/health/ready")).status_code):
                    return
            except httpx.ConnectError:
                pass
            await asyncio.sleep(LOOK_S)
