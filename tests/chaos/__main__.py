"""`python -m tests.chaos`: kill every service at every kind of step, cut it off from its servers, let clocks differ and
poison the bus; external systems count the outcome."""

import argparse
import sys
from pathlib import Path
from random import SystemRandom

from rota_common.testing.long_run import run_in_folder
from tests.chaos.fault_points import KILLS, KINDS
from tests.chaos.suite import Options, Suite

AFTERWARDS = """
The last line is JSON: accepted, ended, lost, repeated_steps, doubled_deliveries, kills, recovery_p50_s and
recovery_max_s, then the same three of partitions (partition_recovery_p50_s …), leaders, stepdowns, knowledge and
limits, and clock_skew_s, poison and poison_not_buried. The exit code is 0 if lost, repeated_steps, doubled_deliveries
and poison_not_buried are 0, as many executions as wanted were accepted, and every fault point was hit; with
--seconds, if at least 100 were accepted and every service was killed. docs/chaos.md says what is counted and why that
can be trusted.
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
    parser.add_argument(
        "--kinds",
        help=f"of faults, with commas between: {', '.join(KINDS)} (default: all, in the short form kills)",
    )
    given = parser.parse_args()
    if unknown := set((given.kinds or KILLS).split(",")) - set(KINDS):
        parser.error(f"expected kinds of {', '.join(KINDS)}, not {', '.join(sorted(unknown))}")
    seed = given.seed if given.seed is not None else SystemRandom().randrange(10**6)

    async def work(folder: Path) -> bool:
        print(f"seed {seed}, logs in {folder}", flush=True)
        return await Suite(folder, _options(given, seed)).run()

    return 0 if run_in_folder("rota-chaos-", work, keep=given.keep) else 1


def _options(given: argparse.Namespace, seed: int) -> Options:
    """In the short form kills come so close that most executions stand still: more of them make up for it."""
    in_flight = given.in_flight or (32 if given.seconds is not None else 12)
    default = KILLS if given.seconds is not None else ",".join(KINDS)
    kinds = frozenset((given.kinds or default).split(","))
    return Options(given.executions, given.seconds, seed, in_flight, kinds)


if __name__ == "__main__":
    sys.exit(main())
