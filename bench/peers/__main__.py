"""Rota's standard mode beside Restate and DBOS, on the same work, by turns: `make bench-peers`.

A run is a trigger, five durable steps and a signed POST; its time goes from the trigger to the 2xx of the POST. Ends
with 1 where Rota misses a goal.
"""

import argparse
import asyncio
import os
import platform
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from bench.peers import others, rota
from bench.peers.goals import DBOS, RESTATE, ROTA, Figures, goals, middle
from bench.peers.work import Load

Measure = Callable[[Path, Load], Awaitable[Figures]]
MEASURED: Mapping[str, Measure] = {ROTA: rota.measure, RESTATE: others.restate, DBOS: others.dbos}


async def measure(load: Load, rounds: int) -> dict[str, Figures]:
    """Medians. Each is started with empty stores, warmed up, measured and stopped before the next one begins."""
    seen: dict[str, list[Figures]] = {name: [] for name in MEASURED}
    for number in range(1, rounds + 1):
        for name, measured in MEASURED.items():
            with tempfile.TemporaryDirectory(prefix="rota-peers-") as folder:
                found = await measured(Path(folder), load)
            seen[name].append(found)
            print(f"round {number} of {rounds}: {name:<8}{found.p50_ms:8.1f} ms {found.per_second:8.1f}/s", flush=True)
    return {name: middle(each) for name, each in seen.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="all three by turns (default 5)")
    parser.add_argument("--warm-up", type=int, default=200, help="runs before each round's measurement")
    parser.add_argument("--one-by-one", type=int, default=50, help="runs one after another, for the p50")
    parser.add_argument("--at-once", type=int, default=500, help="runs with many in flight, for the rate")
    parser.add_argument("--in-flight", type=int, default=50)
    given = parser.parse_args()
    if not others.installed():
        sys.exit("the peers aren't installed: `make bench-peers` does it")
    load = Load(given.warm_up, given.one_by_one, given.at_once, given.in_flight)
    found = asyncio.run(measure(load, given.rounds))
    print(f"\n{os.cpu_count()} cores, Python {platform.python_version()}, medians of {given.rounds} rounds")
    print(f"{'':<10}{'p50 in ms':>12}{'runs per second, ' + str(given.in_flight) + ' in flight':>36}")
    for name, each in found.items():
        print(f"{name:<10}{each.p50_ms:>12.1f}{each.per_second:>36.1f}")
    results = goals(found)
    print("ratios: " + ", ".join(str(each) for each in results))
    sys.exit(0 if all(each.reached for each in results) else 1)


if __name__ == "__main__":
    main()
