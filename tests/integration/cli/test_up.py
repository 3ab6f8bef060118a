"""`rota up` from start to end: the files it keeps, and no process left behind."""

import json
import signal
import stat
from pathlib import Path

import pytest

from tests.integration.cli.harness import EXAMPLES, Rota, Up, processes_of, start_up

pytestmark = pytest.mark.integration

ASSISTANT = str(EXAMPLES / "robots" / "sales-assistant.yaml")


def test_only_the_owner_can_read_key_files_and_no_key_is_printed(running: Up) -> None:
    kept = running.data / "keys.json"
    for file in (Path(running.ready["context_file"]), kept):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    keys = json.loads(kept.read_text())
    assert not any(keys[name] in str(running.ready) for name in ("admin_key", "api_key"))


def test_a_taken_port_ends_the_start_and_leaves_no_process(rota: Rota, running: Up, tmp_path: Path) -> None:
    port = running.ready["url"].rpartition(":")[2]
    second = rota.run("up", "--port", port, "--data", str(tmp_path))
    assert second.returncode == 1
    assert f"can't listen on 127.0.0.1:{port}" in second.stderr
    assert processes_of(tmp_path) == []


def test_a_second_rota_on_the_same_folder_is_refused(rota: Rota, running: Up) -> None:
    before = processes_of(running.data)
    second = rota.run("up", "--port", "0", "--data", str(running.data))
    assert second.returncode == 1
    assert "another Rota uses the folder" in second.stderr
    assert processes_of(running.data) == before
    assert rota.run("robots").returncode == 0


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


def test_an_unreachable_nats_is_named_without_its_password(tmp_path: Path) -> None:
    nowhere = "nats://u:pw@127.0.0.1:9"
    done = Rota(tmp_path).run("up", "--port", "0", "--data", str(tmp_path / "data"), "--nats-url", nowhere)
    assert done.returncode == 1
    assert "nats://127.0.0.1:9" in done.stderr
    assert "pw" not in done.stderr + done.stdout
    assert processes_of(tmp_path / "data") == []


@pytest.mark.soak
def test_robots_and_keys_are_kept_across_a_sigterm_a_hard_kill_and_new_starts(tmp_path: Path) -> None:
    # SC-40
    rota = Rota(tmp_path)
    first = start_up(rota, tmp_path / "data")
    rota.json("apply", "-f", ASSISTANT)
    code, _ = first.end(signal.SIGTERM)
    assert code == 0
    assert processes_of(tmp_path / "data") == []
    second = start_up(rota, tmp_path / "data")
    second.process.kill()
    second.process.communicate()
    third = start_up(rota, tmp_path / "data")
    try:
        assert [one["member_id"] for one in rota.json("robots")[0]] == ["sales-assistant"]
        again = rota.run("trigger", "sales-assistant", "--message", "Again", "--wait", "--json")
        assert json.loads(again.stdout)["status"] == "completed"  # its mail has no server
        assert len({each.ready["nats_url"] for each in (first, second, third)}) == 1  # subscribers know it
        running = processes_of(tmp_path / "data")
        assert sum("nats-server" in one for one in running) == 1
        assert sum("mongod" in one for one in running) == 1
    finally:
        third.end(signal.SIGTERM)
    assert processes_of(tmp_path / "data") == []


def test_ctrl_c_drains_and_leaves_no_process(running: Up) -> None:  # the last one: it ends what the others use
    # SC-40
    assert len(processes_of(running.data)) >= 3
    code, printed = running.end(signal.SIGINT)
    assert code == 0
    assert "finishing messages in progress" in printed
    assert processes_of(running.data) == []
