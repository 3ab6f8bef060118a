"""`python -m tests.chaos`: kill every service at every kind of step; external systems count the outcome."""

import argparse
import asyncio
import logging
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from random import SystemRandom

from tests.chaos.suite import Suite, Wanted

AFTERWARDS = """
The last line is JSON: accepted, ended, lost, repeated_steps, doubled_deliveries, kills, recovery_p50_s and
recovery_max_s. The exit code is 0 if lost, repeated_steps and doubled_deliveries are 0, as many executions as wanted
were accepted, and every service was killed at every kind of step; with --seconds, if at least 100 were accepted and
every service was killed. docs/chaos.md says what is counted and why that can be trusted.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__, epilog=AFTERWARDS)
    parser.add_argument("--executions", type=int, default=1000, help="how many to start at least (default 1000)")
    parser.add_argument(
        "--seconds",
        type=float,
        help="the short form: stop posting after so long; twice as long if not all services are killed by then",
    )
    parser.add_argument("--seed", type=int, help="chooses kills and delays; printed, so that a run can be tried again")
    parser.add_argument("--in-flight", type=int, help="executions under way at once (default 12, in the short form 32)")
    parser.add_argument("--keep", action="store_true", help="keep the folder of logs and data, whatever comes")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else SystemRandom().randrange(10**6)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # connections that a kill breaks off
    folder = Path(tempfile.mkdtemp(prefix="rota-chaos-"))
    print(f"seed {seed}, logs in {folder}", flush=True)
    good = False
    try:
        good = asyncio.run(_run(Suite(folder, _wanted(given, seed))))
    finally:
        if good and not given.keep:
            shutil.rmtree(folder)
        else:
            print(f"the logs are kept in {folder}", file=sys.stderr)
    return 0 if good else 1


async def _run(suite: Suite) -> bool:
    """Whoever ends us before our time ends what we have started, too."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await suite.run()


def _wanted(given: argparse.Namespace, seed: int) -> Wanted:
    """In the short form kills come so close that most executions stand still: more of them make up for it."""
    in_flight = given.in_flight or (32 if given.seconds is not None else 12)
    return Wanted(given.executions, given.seconds, seed, in_flight)


if __name__ == "__main__":
    sys.exit(main())
