"""The folder of NATS's configuration: written as often as one likes, it keeps its keys, and keeps them to itself."""

import base64
import json
import stat
from pathlib import Path

import pytest

from rota_common.nats_admin.accounts import USERS
from rota_common.nats_admin.config import Folder, Server, kubernetes, main, new_key, public_key, write
from rota_contracts.catalog import SERVICES


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    write(Folder(tmp_path), Server())
    before = contents(tmp_path)
    write(Folder(tmp_path), Server())
    assert contents(tmp_path) == before


def test_every_user_has_a_key_that_only_its_owner_can_read(tmp_path: Path) -> None:
    accounts = write(Folder(tmp_path), Server())
    for user in USERS:
        file = Folder(tmp_path).key(user)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert public_key(file.read_text()) == accounts.users[user]
    assert len(set(accounts.users.values())) == len(USERS)


def test_what_the_server_acknowledges_is_on_the_disk_unless_another_interval_is_given(tmp_path: Path) -> None:
    for server, wanted in ((Server(), "sync_interval: always"), (Server(sync_interval="1s"), "sync_interval: 1s")):
        write(Folder(tmp_path), server)
        assert wanted in Folder(tmp_path).config.read_text()


def test_a_moved_key_is_not_replaced(tmp_path: Path) -> None:
    before = write(Folder(tmp_path), Server())
    Folder(tmp_path).key("executor").unlink()
    assert write(Folder(tmp_path), Server()) == before
    assert not Folder(tmp_path).key("executor").exists()


def test_a_key_replaced_by_hand_is_used(tmp_path: Path) -> None:
    write(Folder(tmp_path), Server())
    seed, public = new_key()
    Folder(tmp_path).key("executor").write_text(seed)
    assert write(Folder(tmp_path), Server()).users["executor"] == public


def test_an_invalid_seed_is_an_error(tmp_path: Path) -> None:
    write(Folder(tmp_path), Server())
    Folder(tmp_path).key("executor").write_text("hello")
    with pytest.raises(ValueError, match="expected the seed of an nkey"):
        write(Folder(tmp_path), Server())


def test_the_server_s_files_hold_no_seed(tmp_path: Path) -> None:
    write(Folder(tmp_path), Server())
    seeds = [Folder(tmp_path).key(user).read_text().strip() for user in USERS]
    for name in ("nats.conf", "accounts.conf", "accounts.json"):
        text = (tmp_path / name).read_text()
        assert [seed for seed in seeds if seed in text] == []


def test_the_secrets_of_kubernetes_hold_the_accounts_and_one_key_for_each_service(tmp_path: Path) -> None:
    write(Folder(tmp_path), Server())
    secrets = {item["metadata"]["name"]: item["data"] for item in json.loads(kubernetes(Folder(tmp_path)))["items"]}
    assert set(secrets) == {"nats-accounts", *(f"nats-key-{user}" for user in (*SERVICES, "topology", "backup"))}
    assert (
        base64.b64decode(secrets["nats-key-executor"]["nats.nk"]).decode()
        == Folder(tmp_path).key("executor").read_text()
    )
    assert base64.b64decode(secrets["nats-accounts"]["accounts.conf"]) == (tmp_path / "accounts.conf").read_bytes()


def test_the_module_writes_it_too(tmp_path: Path) -> None:
    assert main(["--out", str(tmp_path), "--port", "4333", "--http-port", "0", "--store", "/streams"]) == 0
    text = (tmp_path / "nats.conf").read_text()
    assert '"0.0.0.0:4333"' in text
    assert '"/streams"' in text
    assert "http" not in text
    assert set(contents(tmp_path)) >= {"accounts.conf", "accounts.json", "keys/executor/nats.nk"}
