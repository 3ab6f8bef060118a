"""`python -m tests.clock_year`: a year of a thousand clocks in minutes, on a real scheduler, against an oracle."""

import argparse
import asyncio
import json
import logging
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from random import SystemRandom

from rota_common.runtime import logs
from tests.clock_year.report import Figures
from tests.clock_year.script import YEAR
from tests.clock_year.year import Year

AFTERWARDS = """
Progress goes to standard error. The one line on standard output is JSON: due, fired, missed, doubled, kills, and more.
The exit code is 0 if fired equals due, no run was missed or doubled, every skipped run was reported, the daemons kept
their rules, at least 100000 runs were due and 100 replicas killed; of a shorter run, its share of that.
docs/clock-year.md explains the figures.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.clock_year", description=__doc__, epilog=AFTERWARDS)
    parser.add_argument(
        "--days", type=int, default=YEAR, help=f"number of days, from 25 February 2024 (default {YEAR})"
    )
    parser.add_argument("--seed", type=int, help="chooses robots, kills and jumps; printed, to repeat a run")
    parser.add_argument("--keep", action="store_true", help="keep the folder of logs and data after a success, too")
    given = parser.parse_args()
    if given.days < 1:
        parser.error(f"expected at least one day, got {given.days}")
    seed = given.seed if given.seed is not None else SystemRandom().randrange(10**6)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # connections that a kill interrupts
    folder = Path(tempfile.mkdtemp(prefix="rota-year-"))
    logs.configure(level="WARNING")
    print(f"seed {seed}, {given.days} days, logs in {folder}", file=sys.stderr, flush=True)
    good = False
    try:
        figures = asyncio.run(_run(Year(folder, days=given.days, seed=seed)))
        for line in figures.findings():
            print(line, file=sys.stderr)
        print(json.dumps(figures.json), flush=True)
        good = not figures.failures()
    finally:
        if good and not given.keep:
            shutil.rmtree(folder)
        else:
            print(f"the logs are kept in {folder}", file=sys.stderr)
    return 0 if good else 1


async def _run(year: Year) -> Figures:
    """SIGTERM cancels the run, which ends the processes that it started."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await year.run()


if __name__ == "__main__":
    sys.exit(main())
