"""The key of a data folder that encrypts secrets of sources."""

import stat
from pathlib import Path

from cryptography.fernet import Fernet

from rota.server.bootstrap import secrets_key


def test_a_key_is_generated_once_with_mode_0600(tmp_path: Path) -> None:
    made = secrets_key(tmp_path)
    assert Fernet(made).decrypt(Fernet(made).encrypt(b"x")) == b"x"
    assert stat.S_IMODE((tmp_path / "secrets.key").stat().st_mode) == 0o600
    assert secrets_key(tmp_path) == made


def test_a_given_key_comes_before_the_saved_one(tmp_path: Path) -> None:
    assert secrets_key(tmp_path, "given") == "given"
    assert not (tmp_path / "secrets.key").exists()
    kept = secrets_key(tmp_path)
    assert secrets_key(tmp_path, "given") == f"given,{kept}"
