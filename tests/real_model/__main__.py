"""`python -m tests.real_model`: a person's twenty plain requests, at the bare model in one call each and at a robot;
then twenty runs of four robots."""

import argparse
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median

import structlog

from rota_common import topology
from rota_common.runtime.embedded_servers import mongod, nats_server
from rota_common.testing.long_run import run_in_folder
from tests.integration.path.harness import System
from tests.real_model import robots
from tests.real_model.clerk import ALIEN, Answer, a_clerk, asked, bare
from tests.real_model.counter import Counter, counting
from tests.real_model.requests import REQUESTS, Request

MOST_CALLS = 6
Row = tuple[Request, Answer, Answer]
Found = tuple[list[Row], list[robots.Row]]


async def answers(folder: Path, url: str, model: str, wanted: Sequence[Request], with_robots: Sequence[str]) -> Found:
    """Each request with the bare model's answer and the robot's, then runs of four robots; each line is printed when it
    is there."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    rows = []
    async with counting(url, folder / "model.jsonl") as counter, _clerk(folder, counter, model) as system:
        for request in wanted:
            alone = await bare(url, model, request)
            calls, tokens = counter.calls, counter.tokens
            mine = await asked(system, request)
            mine.calls, mine.tokens = counter.calls - calls, counter.tokens - tokens
            rows.append((request, alone, mine))
            print(_line(*rows[-1]), flush=True)
        runs = await robots.rows(system, with_robots, lambda row: print(robots.line(row), flush=True))
    return rows, runs


@asynccontextmanager
async def _clerk(folder: Path, counter: Counter, model: str) -> AsyncIterator[System]:
    servers = nats_server(folder / "nats"), mongod(folder / "mongo")
    async with AsyncExitStack() as ends:
        for server in servers:
            await server.start()
            ends.push_async_callback(server.stop)
        await topology.apply_to(servers[0].url)
        where = {"nats_url": servers[0].url, "mongo_url": servers[1].url, "mongo_prefix": "real"}
        yield await ends.enter_async_context(a_clerk(folder, counter.url, model, **where))


def figures(rows: Sequence[Row]) -> dict[str, float]:
    return {
        "requests": len(rows),
        "bare_right": sum(request.right(alone.text) for request, alone, _ in rows),
        "right": sum(request.right(mine.text) for request, _, mine in rows),
        "failed": sum(bool(mine.failed) for *_, mine in rows),
        "alien": sum(any(mark in mine.text for mark in ALIEN) for *_, mine in rows),
        "calls_median": median(mine.calls for *_, mine in rows),
        "calls_most": max(mine.calls for *_, mine in rows),
        "tokens": sum(mine.tokens for *_, mine in rows),
        "bare_tokens": sum(alone.tokens for _, alone, _ in rows),
        "seconds_median": round(median(mine.seconds for *_, mine in rows), 1),
        "bare_seconds_median": round(median(alone.seconds for _, alone, _ in rows), 1),
    }


def good(found: dict[str, float]) -> bool:
    """At least as many right as the bare model's, nothing in them that isn't an answer, and few calls."""
    return found["right"] >= found["bare_right"] and found["alien"] == 0 and found["calls_most"] <= MOST_CALLS


def _line(request: Request, alone: Answer, mine: Answer) -> str:
    def shown(answer: Answer) -> str:
        mark = "right" if request.right(answer.text) else "WRONG"
        return f"{mark} {answer.seconds:5.1f} s {answer.calls} calls {answer.tokens:5} tokens"

    text = mine.failed or " ".join(mine.text.split())
    return f"{request.name:<15} bare: {shown(alone)}; robot: {shown(mine)} | {text[:140]}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.real_model", description=__doc__)
    url = os.environ.get("ROTA_TEST_MODEL_URL", "")
    parser.add_argument("--url", default=url, help="of a server with OpenAI's protocol (default $ROTA_TEST_MODEL_URL)")
    parser.add_argument("--model", default=os.environ.get("ROTA_TEST_MODEL", "default"), help="its name there")
    parser.add_argument("--only", help="names of requests, with commas between; none: -")
    parser.add_argument("--robots", default=",".join(robots.NAMES), help="names of robots, likewise")
    parser.add_argument("--keep", action="store_true", help="keep the folder with every call, whatever comes")
    given = parser.parse_args()
    if not given.url:
        parser.error("expected --url, or ROTA_TEST_MODEL_URL")
    names = (given.only or "").split(",")
    wanted = [request for request in REQUESTS if not given.only or request.name in names]

    async def work(folder: Path) -> bool:
        print(f"logs in {folder}", flush=True)
        rows, runs = await answers(folder, given.url.rstrip("/"), given.model, wanted, given.robots.split(","))
        well = True
        if rows:
            print(json.dumps(figures(rows)))
            well = good(figures(rows))
        if runs:
            print(json.dumps(robots.figures(runs)))
            well = well and robots.good(robots.figures(runs))
        return well

    return 0 if run_in_folder("rota-real-model-", work, keep=given.keep) else 1


if __name__ == "__main__":
    sys.exit(main())
