"""The peers as those that are measured: started in the environment of `make bench-peers`, driven, stopped."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from bench.peers.goals import Figures, figures
from bench.peers.work import SINK, Driven, Load
from bench.polling import until
from bench.sink import Sink, sink
from rota_common.runtime.child_processes import tied
from rota_common.runtime.embedded_servers import free_port

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv" / "peers"
PYTHON = ENVIRONMENT / "bin" / "python"
SERVERS = "node_modules/@restatedev/restate-server-*/bin/restate-server"
STOP_S = 20


def installed() -> bool:
    return PYTHON.exists() and any(ENVIRONMENT.glob(SERVERS))


async def dbos(folder: Path, load: Load) -> Figures:
    async with sink(_name) as to:
        return await _driven(folder, load, to, "bench.peers.dbos_driver", str(folder / "dbos.sqlite"))


async def restate(folder: Path, load: Load) -> Figures:
    ports = [free_port() for _ in range(4)]
    node, ingress, admin, service = ports
    settings = {
        "RESTATE_BIND_IP": "127.0.0.1",
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_BIND_PORT": str(node),
        "RESTATE_INGRESS__BIND_PORT": str(ingress),
        "RESTATE_ADMIN__BIND_PORT": str(admin),
        "RESTATE_DISABLE_TELEMETRY": "true",
    }
    (binary,) = ENVIRONMENT.glob(SERVERS)
    server = [str(binary), "--no-logo", "--base-dir", str(folder / "data")]
    served = [str(PYTHON), "-m", "hypercorn", "--bind", f"127.0.0.1:{service}", "bench.peers.restate_service:app"]
    async with (
        sink(_name) as to,
        _process(served, {SINK: to.url}, folder / "service.log"),
        _process(server, settings, folder / "server.log"),
    ):
        await _registered(f"http://127.0.0.1:{admin}", f"http://127.0.0.1:{service}")
        return await _driven(folder, load, to, "bench.peers.restate_driver", f"http://127.0.0.1:{ingress}")


def _name(body: Any) -> str:
    return str(body["name"])


async def _registered(admin: str, service: str) -> None:
    """Return once the server has found the service."""

    async def taken() -> bool:
        try:
            answer = await client.post(f"{admin}/deployments", json={"uri": service})
        except httpx.HTTPError:
            return False
        return answer.is_success

    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        await until(taken, patience=180, look=0.2)


async def _driven(folder: Path, load: Load, to: Sink, module: str, argument: str) -> Figures:
    environ = os.environ | load.environ() | {SINK: to.url}
    with (folder / "driver.log").open("wb") as log:
        command = tied([str(PYTHON), "-m", module, argument])
        driver = await asyncio.create_subprocess_exec(*command, env=environ, cwd=ROOT, stdout=PIPE, stderr=log)
        said, _ = await driver.communicate()
    if driver.returncode:
        raise RuntimeError(f"{module} ended with code {driver.returncode}: {_end(folder / 'driver.log')}")
    return figures(Driven(**json.loads(said.splitlines()[-1])), to.at)


@asynccontextmanager
async def _process(command: Sequence[str], settings: Mapping[str, str], file: Path) -> AsyncIterator[None]:
    """Runs meanwhile; SIGTERM ends it, SIGKILL after 20 s. RuntimeError if it has ended by itself."""
    with file.open("wb") as log:
        environ = os.environ | settings
        process = await asyncio.create_subprocess_exec(*tied(command), env=environ, cwd=ROOT, stdout=log, stderr=log)
    try:
        yield
    except TimeoutError as error:
        raise RuntimeError(f"{command[0]} isn't ready: {_end(file)}") from error
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_S)
        except TimeoutError:
            process.kill()
            await process.wait()


def _end(log: Path) -> str:
    return log.read_text(errors="replace")[-1500:]
