"""`python -m bench.flood`: ten times the pool's capacity in webhooks for one team, and how late another team's clocks
are meanwhile. Exits with 1 unless nothing is lost, every backlog keeps its limit and p99 of the delay is under 2 s."""

import argparse
import asyncio
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.executor_stand_in import ExecutorStandIn
from bench.flood_load import BACKLOG, FLOODED, LIMIT, Facts, Gateway, Held, due
from bench.polling import until
from bench.result_file import keep
from bench.system import ADMIN_KEY, SECRET
from rota_common import topology
from rota_common.clock import now
from rota_common.runtime import logs
from rota_common.runtime.embedded_servers import mongod, nats_server
from rota_common.stores.mongo import Database, Mongo
from rota_common.testing.bus import keep_all
from rota_common.testing.processes import Processes
from rota_common.testing.team_secrets import secrets_folder
from rota_contracts.ids import execution_id

POOL, WORK_S = 5, 0.2
CAPACITY = int(POOL / WORK_S)
"""Executions a second."""

TIMES = 10
GOAL_S = 2.0
QUIET_S = 20
PATIENCE_S = 120.0


@dataclass
class Flood:
    """The system under the flood, and its observers."""

    database: Database
    gateway: Gateway
    executor: ExecutorStandIn
    held: Held

    async def quiet(self) -> list[float]:
        """The delays of the clocks while nothing else happens: the floor."""
        since = now()
        await asyncio.sleep(QUIET_S)
        return (await self.delays(since, now()))[0]

    async def run(self, seconds: int) -> tuple[list[float], int, float]:
        """The delays of the clocks, how many of their runs never began, and webhooks sent in a second."""
        rate, since = TIMES * CAPACITY, now()
        sampling = asyncio.create_task(self.held.sample())
        try:
            sent = await self.gateway.flood(rate, rate * seconds)
            delays, missing = await self.delays(since, now())
        finally:
            sampling.cancel()
            await asyncio.wait([sampling])
        return delays, missing, sent

    async def delays(self, since: datetime, end: datetime) -> tuple[list[float], int]:
        """From the instant that each run was due in this time to its start; and how many haven't begun at last."""
        wanted = await due(self.database, since, end)

        def began() -> dict[tuple[str, datetime], float]:
            runs = [(run, run.scheduled_at) for run in self.executor.runs.values()]
            found = {(run.member, at): (run.started_at - at).total_seconds() for run, at in runs if at is not None}
            return {name: found[name] for name in wanted & found.keys()}

        async def all_began() -> bool:
            return len(began()) == len(wanted)

        with contextlib.suppress(TimeoutError):
            await until(all_began, patience=10 * GOAL_S)
        return list(began().values()), len(wanted) - len(began())

    async def drain(self) -> None:
        """Let the waiting triggers run, fast."""
        self.executor.work_s = 0.0

        async def empty() -> bool:
            return not await self.database["queue"].count_documents({"live": True, "team": FLOODED})

        await until(empty, patience=PATIENCE_S, look=0.2)


async def measure(seconds: int, seed: int) -> tuple[dict[str, Any], list[str]]:
    """The row, and the violations."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rota-flood-")))
        server, mongo = nats_server(folder / "nats"), mongod(folder / "mongo")
        for each in (server, mongo):
            await each.start()
            stack.push_async_callback(each.stop)
        await topology.apply_to(server.url)
        await keep_all(server.url)  # the facts are read when the flood is over
        no_limits = {"ROTA_RATE_PER_ADDRESS": "0", "ROTA_RATE_PER_SOURCE": "0"}
        settings = {"ROTA_ADMIN_KEY": ADMIN_KEY, "ROTA_POOL": str(POOL), **no_limits}
        settings["ROTA_BACKLOG_PER_ROBOT"] = str(BACKLOG)
        settings |= secrets_folder(folder, FLOODED, BENCH_SECRET=SECRET)
        processes = Processes(folder, nats_url=server.url, mongo_url=mongo.url, settings=settings)
        stack.push_async_callback(processes.stop_all)
        for name in ("trigger-gateway", "scheduler"):
            await processes.start(name)
        executor, store = ExecutorStandIn(server.url, capacity=POOL, work_s=WORK_S), Mongo(mongo.url, "rota_scheduler")
        await executor.start()
        stack.push_async_callback(executor.stop)
        stack.push_async_callback(store.close)
        for name in processes.running:
            await processes.ready(name)
        gateway = Gateway("127.0.0.1", processes.ports["trigger-gateway"], seed)
        await gateway.prepare()
        flood = Flood(store.database, gateway, executor, Held(store.database))
        floor = await flood.quiet()
        print(f"quiet: {len(floor)} runs of the clocks, p99 {p99(floor):.3f} s")
        delays, missing, rate = await flood.run(seconds)
        await flood.drain()
        facts = await Facts.read(server.url)
    row = {"name": "flood_clock_delay_p99", "value": round(p99(delays), 3), "unit": "s", "floor": round(p99(floor), 3)}
    row |= {"ratio": round(p99(delays) / p99(floor), 2), "max": round(max(delays), 3), "clock_runs": len(delays)}
    row |= {"seconds": seconds, "webhooks": len(gateway.triggers), "webhooks_per_second": round(rate, 1), "pool": POOL}
    row |= {"accepted": len(facts.admitted), "refused": gateway.answers[429]}
    row |= {"most_held": facts.most_held, "limit": LIMIT}
    return row, [*_of_the_clocks(delays, missing, rate), *_of_the_triggers(gateway, facts), *_of_the_runs(flood, facts)]


def _of_the_clocks(delays: list[float], missing: int, rate: float) -> Iterable[str]:
    if p99(delays) >= GOAL_S:
        yield f"p99 of the clocks' delay is {p99(delays):.2f} s, expected less than {GOAL_S:g}"
    if missing:
        yield f"{missing} runs of the clocks didn't begin"
    if rate < 0.95 * TIMES * CAPACITY:
        yield f"{rate:.0f} webhooks came a second, expected {TIMES * CAPACITY}: that is no flood"


def _of_the_triggers(gateway: Gateway, facts: Facts) -> Iterable[str]:
    sent, decided = gateway.triggers, facts.admitted + facts.rejected
    if not gateway.answers.keys() <= {202, 429} or len(sent) != gateway.answers[202]:
        yield f"expected one trigger for each 202, and 429 otherwise, got {len(sent)} triggers and {gateway.answers}"
    if decided.keys() != set(sent) or set(decided.values()) != {1}:
        yield f"of {len(sent)} triggers {len(facts.admitted)} were admitted and {len(facts.rejected)} rejected"
    if facts.rejected or not gateway.answers[429]:
        yield f"{len(facts.rejected)} accepted events were rejected, and {gateway.answers[429]} refused with 429"


def _of_the_runs(flood: Flood, facts: Facts) -> Iterable[str]:
    held, ran = flood.held, {name for name, run in flood.executor.runs.items() if run.team == FLOODED}
    if ran != {execution_id(each) for each in facts.admitted} or set(flood.executor.finished.values()) != {1}:
        yield f"{len(facts.admitted)} were admitted, and {len(ran)} ran"
    if not 0 < held.most <= LIMIT or not 0 < facts.most_held <= LIMIT:
        yield f"one robot held {held.most} by the store and {facts.most_held} by the facts, its quota is {LIMIT}"
    if flood.executor.most > POOL:
        yield f"{flood.executor.most} executions ran at once, and the pool is {POOL}"


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[max(0, -(-len(seconds) * 99 // 100) - 1)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.flood", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long the flood lasts (default 60)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logs.configure(level="WARNING")
    row, broken = asyncio.run(measure(given.seconds, given.seed))
    keep([row])
    print(json.dumps(row))
    for each in broken:
        print(f"BROKEN: {each}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
