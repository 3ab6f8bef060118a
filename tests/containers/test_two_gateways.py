"""Two gateways behind HAProxy: one after the other is restarted, and a client that never retries sees no error.

HAProxy is this machine's own, with the configuration that `deploy/compose/two-gateways.yml` gives to its container.
"""

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from rota_common.runtime.embedded_servers import free_port
from rota_common.testing.patience import PATIENCE_S
from tests.containers.engine import REQUIRED, ROOT
from tests.containers.harness import RUNS, World, aside
from tests.figures import Figures

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONFIGURATION = ROOT / "deploy" / "compose" / "haproxy.cfg"
GATEWAYS = ("trigger-gateway", "trigger-gateway-2")
LOOK_S = 0.05


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def proxy(world: World) -> AsyncIterator[str]:
    """The URL of HAProxy before two gateways that are healthy."""
    haproxy = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if haproxy is None:
        (pytest.fail if os.environ.get(REQUIRED) == "1" else pytest.skip)("no haproxy on PATH")
    ports = {name: free_port() for name in GATEWAYS}
    await aside(world.project.add_gateways, ports)
    own = free_port()
    addresses = {f"GATEWAY_{number}": f"127.0.0.1:{port}" for number, port in enumerate(ports.values(), start=1)}
    environ = {**os.environ, **addresses, "BIND": f"127.0.0.1:{own}"}
    process = await asyncio.create_subprocess_exec(haproxy, "-db", "-f", str(CONFIGURATION), env=environ)
    try:
        await _listening(own)
        yield f"http://127.0.0.1:{own}"
    finally:
        process.terminate()
        await process.wait()


async def test_a_client_that_never_retries_sees_no_error_while_gateways_are_restarted(
    world: World, proxy: str, figures: Figures
) -> None:
    sender, took = world.sender(url=proxy, retries=False), {}
    async with sender.posting():
        for name in GATEWAYS:
            await world.receiver.more(RUNS)
            took[name] = await aside(world.project.restart, name)
        await world.receiver.more(RUNS)
    figures.note("accepted during a rolling restart of two gateways", len(sender.executions))
    figures.note("client errors during a rolling restart of two gateways, none retried", len(sender.errors))
    figures.note("gateway healthy after a restart with a drain, s", took)
    assert sender.errors == []
    await world.receiver.all_of(sender.executions.values())


async def _listening(port: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            await asyncio.sleep(LOOK_S)
