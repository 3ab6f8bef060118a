"""Free ports: two processes that start servers at the same time don't choose the same one."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rota_common.runtime import embedded_servers
from rota_common.runtime.embedded_servers import EmbeddedError, free_port

NEIGHBOURS = 20
CHOOSE = "from rota_common.runtime.embedded_servers import free_port; print(free_port(), flush=True); input()"


def all_free_ports() -> Iterator[int]:
    """As many as there are: some may be others' already."""
    with contextlib.suppress(EmbeddedError):
        while True:
            yield free_port()


def test_a_port_that_another_process_chose_is_left_to_it_before_its_server_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHOOSE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        chosen = int(other.stdout.readline())
        monkeypatch.setattr(embedded_servers, "PORTS", range(chosen, chosen + NEIGHBOURS))
        mine = set(all_free_ports())
        other.communicate("\n")

    assert mine
    assert chosen not in mine
