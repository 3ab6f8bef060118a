"""`python -m tests.clock_year.fork_server`: where replicas come from. It has loaded the scheduler, and forks.

A replica is a process of its own, there at once: loading Python's packages takes longer than all else a start does, and
there are more than a hundred starts. Lines on standard input, `<number> <clock> <log>`, ask for one each; on standard
output the replica says `<number> <pid>` when it is ready. When it ends nothing is left of it.
"""

import gc
import os
import signal
import sys

from tests.clock_year import replica


def _bear(number: str, clock: str, log: str) -> None:
    if os.fork():
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), sys.stderr.fileno())
    ready = f"{number} {os.getpid()}\n".encode()
    replica.run(clock, lambda: os.write(sys.stdout.fileno(), ready))  # one write: all share this output


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system takes away who has ended
    gc.freeze()
    for line in sys.stdin:
        _bear(*line.split())
