"""`python -m tests.clock_year.fork_server`: a process that has imported the scheduler, and forks replicas.

Importing takes longer than the rest of a start, and there are more than a hundred starts. Each line on standard input,
`<number> <clock> <log>`, starts a replica, which writes `<number> <pid>` to standard output when it is ready.
"""

import gc
import os
import signal
import sys

from tests.clock_year import replica


def _fork(number: str, clock: str, log: str) -> None:
    if os.fork():
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), sys.stderr.fileno())
    ready = f"{number} {os.getpid()}\n".encode()
    replica.run(clock, lambda: os.write(sys.stdout.fileno(), ready))  # one write: all share this output


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps ended replicas
    gc.freeze()
    for line in sys.stdin:
        _fork(*line.split())
