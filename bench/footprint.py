"""Resident memory while nothing happens, of `rota up`, of its NATS and MongoDB, and of each service as a process of its
own; and the time until `rota up` is ready. `python -m bench.footprint`"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.result_file import keep
from bench.scheduler_start import resident_mb
from bench.system import System
from rota_common import topology
from rota_common.runtime.embedded_servers import mongod, nats_server

READY_S = 300
STOP_S = 30
SERVERS = ("nats-server", "mongod")


async def up(settle: float) -> dict[str, float]:
    """Of one start with an empty data folder: seconds until it says that it is ready, and MB after `settle` seconds."""
    with tempfile.TemporaryDirectory(prefix="rota-footprint-") as folder:
        home = {"HOME": folder, "XDG_CONFIG_HOME": f"{folder}/config"}  # its context is none of the user's
        ports = ["--port", "0", "--nats-port", "0"]
        command = [str(Path(sys.executable).parent / "rota"), "up", "--json", "--data", f"{folder}/data", *ports]
        began = perf_counter()
        started = await asyncio.create_subprocess_exec(
            *command, env=os.environ | home | {"ROTA_CONNECTOR": "rehearsal"}, stdout=PIPE, stderr=DEVNULL
        )
        try:
            await asyncio.wait_for(_ready(started), READY_S)
            seconds = perf_counter() - began
            await asyncio.sleep(settle)
            held = {_name(pid): resident_mb(pid) for pid in _children(started.pid)}
            return {"ready_s": seconds, "rota": resident_mb(started.pid), **{name: held[name] for name in SERVERS}}
        finally:
            if started.returncode is None:
                started.send_signal(signal.SIGTERM)
            await asyncio.wait_for(started.wait(), STOP_S)


async def _ready(started: asyncio.subprocess.Process) -> None:
    assert started.stdout is not None
    async for line in started.stdout:
        said = json.loads(line)
        if said["part"] == "rota" and said["state"] == "ready":
            return
    raise RuntimeError(f"rota up ended with code {await started.wait()} before it was ready: `rota up` says why")


def _children(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(after_name[1]) == parent:
            found.append(int(status.parent.name))
    return found


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


async def services(settle: float) -> dict[str, float]:
    """MB of each service as a process of its own, `settle` seconds after all are ready."""
    with tempfile.TemporaryDirectory(prefix="rota-footprint-") as name:
        folder = Path(name)
        nats, mongo = nats_server(folder / "nats"), mongod(folder / "mongo")
        system = System(folder, nats, mongo, {})
        try:
            await asyncio.gather(nats.start(), mongo.start())
            await topology.apply_to(nats.url)
            await system.processes.start_all()
            await asyncio.sleep(settle)
            return {service: resident_mb(process.pid) for service, process in system.processes.running.items()}
        finally:
            await system.stop()
            await asyncio.gather(nats.stop(), mongo.stop())


async def measure(rounds: int, settle: float) -> list[dict[str, Any]]:
    seen = []
    for number in range(1, rounds + 1):
        seen.append({"up": await up(settle), "services": await services(settle)})
        print(f"round {number} of {rounds}: {json.dumps(seen[-1])}", flush=True)
    at_rest = {part: _medians([each[part] for each in seen]) for part in ("up", "services")}
    one, apart = at_rest["up"], at_rest["services"]
    whole = one["rota"] + sum(one[name] for name in SERVERS)
    return [
        {"name": "up_ready", "value": one["ready_s"], "unit": "s"},
        {"name": "up_rss", "value": one["rota"], "unit": "MB", "with_servers": whole, **{n: one[n] for n in SERVERS}},
        {"name": "services_rss", "value": sum(apart.values()), "unit": "MB", **apart},
    ]


def _medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(median(each[name] for each in rounds), 2) for name in rounds[0]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.footprint", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="starts of each (default 5)")
    parser.add_argument("--settle", type=float, default=5, help="seconds from ready to the look at memory (default 5)")
    given = parser.parse_args()
    rows = asyncio.run(measure(given.rounds, given.settle))
    keep(rows)
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
