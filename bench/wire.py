"""Rota on the wire: webhooks accepted, results delivered, the feed's lag, the cost of a dead target.
`python -m bench.wire`"""

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any

from bench.deliveries import measure as measure_deliveries
from bench.result_file import keep
from bench.webhooks import measure as measure_webhooks
from rota_common import topology
from rota_common.runtime.embedded_servers import mongod, nats_server


async def measure(rounds: int, webhooks: int, deliveries: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="rota-wire-") as name:
        folder = Path(name)
        server, mongo = nats_server(folder / "nats"), mongod(folder / "mongo")
        await asyncio.gather(server.start(), mongo.start())
        try:
            await topology.apply_to(server.url)
            accepted = await measure_webhooks(folder, server, mongo, rounds=rounds, count=webhooks, say=print)
            delivered = await measure_deliveries(folder, server, mongo, rounds=rounds, count=deliveries, say=print)
        finally:
            await asyncio.gather(server.stop(), mongo.stop())
    return [accepted, *delivered]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.wire", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="by turns with the floor (default 3)")
    parser.add_argument("--webhooks", type=int, default=6000, help="webhooks of a round")
    parser.add_argument("--deliveries", type=int, default=800, help="deliveries of a round")
    given = parser.parse_args()
    rows = asyncio.run(measure(given.rounds, given.webhooks, given.deliveries))
    keep(rows)
    for row in rows:
        floor = f"floor {row['floor']}, ratio {row['ratio']}" if "floor" in row else ""
        print(f"{row['name']:<30}{row['value']:>10} {row['unit']:<5}{floor}")


if __name__ == "__main__":
    main()
