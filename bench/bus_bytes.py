"""`python -m bench.bus_bytes`: the bytes that a run leaves on the bus once it is over, before anything ages out.

All streams after so many ended runs, divided by them, for small events and for those of 20 kB; buckets beside it.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any

import nats

from bench.by_turns import in_flight
from bench.result_file import RESULTS, keep
from bench.system import EVENT, System
from rota_common import topology
from rota_common.bus.stream_usage import Usage, read_usage
from rota_common.runtime.embedded_servers import mongod, nats_server

SIZES = (1_000, 20_000)
"""Bytes of an event."""

HANDLED_S = 60
IN_FLIGHT = 20


async def measure(runs: int) -> list[dict[str, Any]]:
    """A row for each size of events."""
    with tempfile.TemporaryDirectory(prefix="rota-bench-") as name:
        folder = Path(name)
        servers = nats_server(folder / "nats"), mongod(folder / "mongo")
        await asyncio.gather(*(server.start() for server in servers))
        await topology.apply_to(servers[0].url)
        system = System(folder, *servers, {})
        try:
            await system.start()
            return [await _row(system, servers[0].url, runs, size) for size in SIZES]
        finally:
            await system.stop()
            await asyncio.gather(*(server.stop() for server in servers))


async def _row(system: System, url: str, runs: int, size: int) -> dict[str, Any]:
    event = {**EVENT, "data": {"message": "x" * size}}

    async def once() -> float:
        return await system.once(event)

    before = await _handled(url)
    await in_flight(once, runs, IN_FLIGHT)
    after = await _handled(url)
    grown = {part: round((after[part].used - before[part].used) / runs) for part in after}
    streams = {part: count for part, count in grown.items() if part.startswith("stream ")}
    row = {"name": f"bus_bytes_per_run_{size // 1000}kB", "value": sum(streams.values()), "unit": "B", "runs": runs}
    buckets = {part: count for part, count in grown.items() if part not in streams}
    return row | {"streams": {part: count for part, count in streams.items() if count}, "buckets": buckets}


async def _handled(url: str) -> dict[str, Usage]:
    """The usage by part, once the services have handled all that waits."""
    client = await nats.connect(url)
    try:
        for _ in range(HANDLED_S):
            found = {usage.part: usage for usage in await read_usage(client.jetstream())}
            if not found["stream TRIGGERS"].messages and not found["stream EXECUTIONS"].messages:
                return found
            await asyncio.sleep(1)
    finally:
        await client.close()
    raise RuntimeError(f"expected all messages to be handled within {HANDLED_S} s: {found['stream EXECUTIONS']}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.bus_bytes", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="runs for each size (default 1000)")
    rows = asyncio.run(measure(parser.parse_args().runs))
    keep(rows)
    for row in rows:
        print(f"{row['name']:<26}{row['value']:>10} {row['unit']:<5}{row['streams']}; buckets {row['buckets']}")
    print(f"\nwritten to {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")


if __name__ == "__main__":
    main()
