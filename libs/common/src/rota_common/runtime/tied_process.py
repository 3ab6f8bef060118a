"""A program that ends with its parent, on Linux: `python tied_process.py PARENT PROGRAM [ARGUMENT …]`.

Run by its path, with the standard library alone. Not a `preexec_fn`: that runs Python between fork and exec, which is
not safe beside threads. The parent is the thread that started it.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != int(parent):
        sys.exit(f"expected the parent {parent}: it ended before {command[0]} began")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the program would inherit that
    os.execv(command[0], command)  # noqa: S606  # the program takes this process's place: no shell


if __name__ == "__main__":
    main()
