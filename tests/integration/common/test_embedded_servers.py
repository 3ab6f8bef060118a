"""Embedded servers whose parent was killed, and their data folder after that."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from rota_common.runtime.embedded_servers import EmbeddedError, EmbeddedServer, mongod, nats_server
from rota_common.testing.patience import PATIENCE_S

PARENT = """
import asyncio, sys
from pathlib import Path
from rota_common.runtime.embedded_servers import mongod, nats_server

async def main():
    servers = nats_server(Path(sys.argv[1]) / "nats"), mongod(Path(sys.argv[1]) / "mongo")
    await asyncio.gather(*(server.start() for server in servers))
    print(*(server.pid for server in servers), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def ended(pid: int) -> None:
    """Return once there is no such process, or only what its parent hasn't collected of it."""
    async with asyncio.timeout(PATIENCE_S):
        while _runs(pid):
            await asyncio.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="no other system ends children with their parent")
async def test_servers_end_with_a_killed_parent_and_start_again_on_their_data(tmp_path: Path) -> None:
    command = (sys.executable, "-c", PARENT, str(tmp_path))
    parent = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    pids = [int(pid) for pid in (await parent.stdout.readline()).split()]
    assert len(pids) == 2
    parent.kill()
    await parent.communicate()
    for pid in pids:
        await ended(pid)
    for server in (nats_server(tmp_path / "nats"), mongod(tmp_path / "mongo")):
        await server.start()
        await server.stop()


async def test_a_start_ends_the_server_that_was_left_in_its_folder(tmp_path: Path) -> None:
    left = nats_server(tmp_path)
    await left.start()
    orphan = left.pid
    server = nats_server(tmp_path)
    try:
        await server.start()
        await ended(orphan)
        assert server.pid != orphan
    finally:
        await left.stop()
        await server.stop()


async def test_a_server_that_does_not_start_says_the_last_error_of_its_log(tmp_path: Path) -> None:
    holder = mongod(tmp_path)
    await holder.start()
    second: EmbeddedServer = mongod(tmp_path)
    try:
        (tmp_path / "server.pid").unlink()  # nothing proves that this one is ours
        with pytest.raises(EmbeddedError, match=r"ended with code 100: .*DBPathInUse") as refused:
            await second.start()
        assert len(str(refused.value).splitlines()) == 2
        os.kill(holder.pid, 0)
    finally:
        await holder.kill()
