"""The child process of `script_process`: gives up for good what a check doesn't need, then runs one script.

Run as a script, with -I and -S: `script_worker.py <script> <seconds> <megabytes>`. What holds everywhere: limits of
processor time, memory and open files, no file grows, and the process group is killed at the end. On Linux, without root
and without packages, the kernel also refuses (x86-64 and ARM, seccomp) sockets, processes and threads, other programs,
and signals to others; and (since 5.13, Landlock) to read any file but the standard library's, and to change any.
Without these two, a script may read what the service may read, reach the network, and leave processes behind that have
left its group: write scripts as you would write code of the service, and take none from strangers.
"""

import contextlib
import ctypes
import os
import resource
import struct
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER, SIGKILL = 1, 38, 22, 2, 9
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1}
SINCE_3 = (1 << 15) - 1
"""Every right over files that Landlock can remove, by its version: it removes no right that isn't named here."""

READ_FILE, READ_FOLDER = 1 << 2, 1 << 3
READABLE = ("/usr/lib", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo")
"""Besides Python's own folders: what its compiled modules load."""

ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CALLS = {
    "x86_64": {
        "network": (41, 53),  # socket, socketpair
        "processes": (56, 57, 58, 59, 322),  # clone, fork, vfork, execve, execveat
        "signals": (62, 200, 234, 129, 297),  # kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo
        "others": (101, 310, 311, 302, 141),  # ptrace, process_vm_readv, process_vm_writev, prlimit64, setpriority
        "kernel": (272, 308, 165, 321),  # unshare, setns, mount, bpf
        "modes": (90, 91, 92, 93, 94, 132, 235, 260, 261, 268, 280),  # chmod, chown, utime and their variants
        "attributes": (188, 189, 190, 197, 198, 199),  # setxattr, removexattr and their variants
    },
    "aarch64": {
        "network": (198, 199),
        "processes": (220, 221, 281),
        "signals": (129, 130, 131, 138, 240),
        "others": (117, 270, 271, 261, 140),
        "kernel": (97, 268, 40, 280),
        "modes": (52, 53, 54, 55, 88),
        "attributes": (5, 6, 7, 14, 15, 16),
    },
}
COMMON = (424, 425, 434, 435, 438, 452)
"""pidfd_send_signal, io_uring_setup, pidfd_open, clone3, pidfd_getfd, fchmodat2: the same number everywhere."""

LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000
OTHER_ABI = 0x40000000
"""x86-64 has a second set of numbers, from here on, for the same calls."""


def limit(*, seconds: int, megabytes: int) -> None:
    """Processor time, memory, files; a script is killed or fails when it reaches one."""
    limits = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: megabytes * 1024 * 1024,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 32,
        resource.RLIMIT_NPROC: 0,  # root is free of this one
        resource.RLIMIT_CORE: 0,
    }
    for what, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # macOS doesn't limit memory
            resource.setrlimit(what, (most, most))


def confine() -> None:
    """Give up files, network and processes, as far as this kernel goes along."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)  # else it would outlive a service that is killed
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        _keep_only_readable_files(libc)
        _refuse_calls(libc)


def _keep_only_readable_files(libc: ctypes.CDLL) -> None:
    version = libc.syscall(LANDLOCK_CREATE, None, 0, 1)
    if version < 1:
        return
    rights = struct.pack("=Q", ALL_RIGHTS.get(version, SINCE_3))
    rules = libc.syscall(LANDLOCK_CREATE, rights, len(rights), 0)
    for path in _existing([*sys.path, os.path.join(sys.base_prefix, "lib"), *READABLE]):
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        right = READ_FILE | READ_FOLDER if os.path.isdir(path) else READ_FILE
        libc.syscall(LANDLOCK_ADD, rules, 1, struct.pack("=Qi", right, folder), 0)
        os.close(folder)
    libc.syscall(LANDLOCK_RESTRICT, rules, 0)
    os.close(rules)


def _existing(paths: Sequence[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if path and os.path.exists(path)]


def _refuse_calls(libc: ctypes.CDLL) -> None:
    machine = os.uname().machine
    if machine in CALLS and struct.calcsize("P") == 8:
        program = _program(ARCHITECTURE[machine], [*chain(*CALLS[machine].values()), *COMMON])
        code = ctypes.create_string_buffer(program)
        header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
        libc.prctl(PR_SET_SECCOMP, FILTER, header, 0, 0)


def _program(architecture: int, calls: Sequence[int]) -> bytes:
    """Classic BPF over (number of the call, architecture, …): jumps count the instructions they skip."""
    lines = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    lines.append((AT_LEAST, len(calls) + 1, 0, OTHER_ABI))
    lines += [(EQUAL, len(calls) - index, 0, call) for index, call in enumerate(calls)]
    lines += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def main() -> None:
    path, seconds, megabytes = sys.argv[1:]
    source = Path(path).read_bytes()
    limit(seconds=int(seconds), megabytes=int(megabytes))
    confine()
    sys.argv[:] = [path]
    # The script is the operator's own file, and running it is what this process is for.
    exec(compile(source, path, "exec"), {"__name__": "__main__", "__file__": path})  # noqa: S102


if __name__ == "__main__":
    main()
