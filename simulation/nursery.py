"""`python -m simulation.nursery`: where replicas come from. It has loaded the scheduler, and forks.

A replica is a process of its own, there at once: loading Python's packages takes longer than all else a start does, and
there are more than a hundred starts. Lines on standard input, `<number> <clock> <log>`, ask for one each; on standard
output come `<number> <pid> started` from the replica and `<number> <pid> ended` when it is gone.
"""

import gc
import os
import signal
import sys
from types import FrameType

from simulation import replica

BORN: dict[int, str] = {}


def _tell(number: str, pid: int, what: str) -> None:
    """One write for one line: several processes share this output."""
    os.write(sys.stdout.fileno(), f"{number} {pid} {what}\n".encode())


def _bury(_: int, __: FrameType | None) -> None:
    while BORN:
        pid, _status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        _tell(BORN.pop(pid), pid, "ended")


def _bear(number: str, clock: str, log: str) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    pid = os.fork()
    if pid:
        BORN[pid] = number
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), sys.stderr.fileno())
    replica.run(clock, lambda: _tell(number, os.getpid(), "started"))


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, _bury)
    gc.freeze()
    for line in sys.stdin:
        _bear(*line.split())
