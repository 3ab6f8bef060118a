"""A service whose clock is wrong: `python -m tests.chaos.skewed SECONDS MODULE`, which runs the module."""

import runpy
import sys
from datetime import timedelta

from rota_common import clock


def main() -> None:
    """Before the module is imported: it takes the clock along."""
    ahead, right = timedelta(seconds=float(sys.argv[1])), clock.now
    clock.now = lambda: right() + ahead
    module = sys.argv[2]
    sys.argv = [module]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
