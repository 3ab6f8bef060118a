"""Pid files and logs of child processes: what is ended and left alone; the line that says why a server didn't start."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota_common.runtime.child_processes import PID_FILE, end_orphan, keep_pid
from rota_common.runtime.server_log import last_error


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that names a file of `tmp_path`, as a server names its data."""
    file = tmp_path / "data" / "waits"
    file.parent.mkdir()
    file.write_text("it runs\n")
    process = subprocess.Popen(["tail", "-f", str(file)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def command(folder: Path) -> list[str]:
    return ["tail", "-f", str(folder / "waits")]


async def test_the_process_of_a_pid_file_is_ended_and_the_file_removed(
    waiting: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    keep_pid(data, waiting.pid, command(data))
    assert await end_orphan(data) == waiting.pid
    assert waiting.wait() != 0
    assert not (data / PID_FILE).exists()
    assert await end_orphan(data) is None


async def test_a_process_that_the_pid_file_does_not_prove_to_be_ours_is_left_alone(
    waiting: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    data, copied = tmp_path / "data", tmp_path / "copied"
    copied.mkdir()
    keep_pid(data, waiting.pid, ["tail", "-f", str(data / "another")])  # the number was given to another process
    assert await end_orphan(data) is None
    keep_pid(copied, waiting.pid, command(data))  # the folder was copied while its server ran
    assert await end_orphan(copied) is None
    for nonsense in ("", "12", "{}", '{"pid": 1, "command": 5}', '{"pid": null, "command": []}'):
        (data / PID_FILE).write_text(nonsense)
        assert await end_orphan(data) is None
    assert waiting.poll() is None


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (
            '{"s":"I","msg":"starting"}\n'
            '{"s":"E","msg":"DBException in initAndListen","attr":{"error":"DBPathInUse: another mongod"}}\n'
            '{"s":"I","msg":"now exiting"}\n',
            "DBException in initAndListen: DBPathInUse: another mongod",
        ),
        ('{"s":"F","msg":"Fatal assertion","attr":null}\n', "Fatal assertion"),
        (
            "[7] 2026/01/01 00:00:00.1 [INF] starting\n[7] 2026/01/01 00:00:00.2 [FTL] can't listen\n[7] [INF] bye\n",
            "can't listen",
        ),
        ("nats-server: nats.conf:3:1: unknown field\n", "nats.conf:3:1: unknown field"),
        ("all is well\n[]\n", ""),
    ],
)
def test_the_last_error_of_a_log_is_the_reason(log: str, reason: str) -> None:
    assert last_error(log) == reason
