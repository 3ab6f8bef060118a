"""`rota up` from start to end: what it keeps, what it leaves behind."""

import json
import signal
import stat
from pathlib import Path

import pytest

from tests.integration.cli.kit import EXAMPLES, Rota, processes_of, start_up

pytestmark = pytest.mark.integration

ASSISTANT = str(EXAMPLES / "robots" / "sales-assistant.yaml")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_drains_says_so_and_leaves_no_process(tmp_path: Path, how: signal.Signals) -> None:
    # SC-40
    up = start_up(Rota(tmp_path), tmp_path / "data")
    assert len(processes_of(tmp_path / "data")) >= 3
    code, said = up.end(how)
    assert code == 0
    assert "finishing what is in hand" in said
    assert processes_of(tmp_path / "data") == []


def test_robots_and_keys_are_kept_across_a_restart(tmp_path: Path) -> None:
    rota = Rota(tmp_path)
    first = start_up(rota, tmp_path / "data")
    rota.json("apply", "-f", ASSISTANT)
    first.end(signal.SIGTERM)
    second = start_up(rota, tmp_path / "data")
    try:
        assert [one["member_id"] for one in rota.json("robots")[0]] == ["sales-assistant"]
        assert rota.json("trigger", "sales-assistant", "--message", "Again", "--wait")[0]["status"] == "completed"
    finally:
        second.end(signal.SIGTERM)


def test_files_with_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    up = start_up(Rota(tmp_path), tmp_path / "data")
    try:
        for file in (Path(up.ready["context_file"]), tmp_path / "data" / "keys.json"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        keys = json.loads((tmp_path / "data" / "keys.json").read_text())
        assert not any(keys[name] in str(up.ready) for name in ("admin_key", "api_key"))
    finally:
        up.end(signal.SIGTERM)


def test_a_port_that_is_taken_ends_the_start_and_leaves_no_process(tmp_path: Path) -> None:
    rota = Rota(tmp_path)
    first = start_up(rota, tmp_path / "data")
    try:
        port = first.ready["url"].rpartition(":")[2]
        second = rota.run("up", "--port", port, "--data", str(tmp_path / "other"))
        assert second.returncode == 1
        assert f"can't listen on 127.0.0.1:{port}" in second.stderr
        assert processes_of(tmp_path / "other") == []
    finally:
        first.end(signal.SIGTERM)


def test_a_second_rota_on_the_same_folder_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    rota = Rota(tmp_path)
    first = start_up(rota, tmp_path / "data")
    try:
        second = rota.run("up", "--port", "0", "--data", str(tmp_path / "data"))
        assert second.returncode == 1
        assert "What to do" in second.stderr
        assert rota.run("robots").returncode == 0
    finally:
        first.end(signal.SIGTERM)


def test_a_signal_in_the_middle_of_the_start_leaves_no_process(tmp_path: Path) -> None:
    # SC-40
    process = Rota(tmp_path).start("up", "--json", "--port", "0", "--data", str(tmp_path / "data"))
    assert process.stdout is not None
    assert "nats" in process.stdout.readline()  # NATS runs, MongoDB is being started
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert "Traceback" not in err
    assert process.returncode == 0
    assert processes_of(tmp_path / "data") == []


def test_a_nats_that_is_not_there_is_told_with_its_address_but_no_password(tmp_path: Path) -> None:
    done = Rota(tmp_path).run(
        "up", "--port", "0", "--data", str(tmp_path / "data"), "--nats-url", "nats://u:pw@127.0.0.1:9"
    )
    assert done.returncode == 1
    assert "nats://127.0.0.1:9" in done.stderr
    assert "pw" not in done.stderr + done.stdout
    assert processes_of(tmp_path / "data") == []
