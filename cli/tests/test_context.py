"""The context of commands: the file, and the variables that override it."""

import stat
from pathlib import Path

import pytest

from rota import context
from rota.context import Context
from rota.errors import CliError

HERE = Context("http://127.0.0.1:8080", "main", "key", "admin")


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "rota" / "context.json"
    monkeypatch.setattr(context, "context_file", lambda: path)
    return path


def test_a_saved_context_is_loaded() -> None:
    context.save(HERE)
    assert context.load({}) == HERE


def test_only_the_owner_can_read_the_file(file: Path) -> None:
    context.save(HERE)
    context.save(HERE)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_variable_overrides_the_file() -> None:
    context.save(HERE)
    assert context.load({"ROTA_TEAM": "other", "ROTA_API_KEY": ""}) == Context(HERE.url, "other", "key", "admin")


def test_without_file_and_variables_the_error_names_the_variable() -> None:
    with pytest.raises(CliError, match="ROTA_URL") as caught:
        context.load({}).need("url", "team")
    assert "rota up" in caught.value.hint


def test_an_unreadable_file_is_an_error(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("{")
    with pytest.raises(CliError, match="context.json"):
        context.load({})


def test_a_stopped_rota_removes_only_its_own_file(file: Path) -> None:
    context.save(HERE)
    context.forget(Context("http://127.0.0.1:9999"))
    assert file.exists()
    context.forget(HERE)
    assert not file.exists()
