"""The command that compares two folders of schemas, or the repository with a commit of its own."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rota_contracts.tooling.compat import main

Schema = dict[str, Any]

A: Schema = {"type": "object", "properties": {"a": {"type": "string"}}}
B: Schema = {"type": "object", "properties": {"b": {"type": "string"}}}
REQUIRED_A: Schema = A | {"required": ["a"]}


def folder(path: Path, schema: Schema) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "thing.v1.json").write_text(json.dumps(schema), encoding="utf-8")
    (path / "asyncapi.json").write_text('{"anything": "goes"}', encoding="utf-8")
    return path


def test_the_command_compares_two_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = folder(tmp_path / "old", A), folder(tmp_path / "new", B)
    assert main([str(old), str(new)]) == 1
    said = capsys.readouterr().out
    assert "breaking: thing.v1.json $.a: property removed" in said
    assert "make a v2 on a new subject" in said
    assert main([str(old), str(old)]) == 0
    assert capsys.readouterr().out == "compatible: 1 schemas compared\n"


def test_the_command_says_what_needs_the_readers_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = folder(tmp_path / "old", REQUIRED_A), folder(tmp_path / "new", A)
    assert main([str(old), str(new)]) == 0
    assert "readers first: thing.v1.json $.a: property made optional" in capsys.readouterr().out


def test_a_folder_without_schemas_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path), str(tmp_path)])
    assert ended.value.code == 2
    assert "expected schemas" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["old", "--git-ref", "main"]])
def test_one_way_to_name_the_old_schemas_is_expected(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "expected either a folder of old schemas or --git-ref" in capsys.readouterr().err


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with one committed schema, and the current folder inside it."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)  # a git hook that runs the tests would have them commit into its own repository
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts/pyproject.toml").touch()
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "before there were schemas")
    git(tmp_path, "tag", "empty")
    folder(tmp_path / "contracts/schemas", A)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "one schema")
    monkeypatch.chdir(tmp_path / "contracts")
    return tmp_path


def git(root: Path, *arguments: str) -> None:
    settings = ("user.name=a", "user.email=a@b.example", "commit.gpgsign=false", "core.hooksPath=none")
    options = [word for setting in settings for word in ("-c", setting)]
    subprocess.run(["git", *options, *arguments], cwd=root, check=True, capture_output=True)


def test_the_command_compares_with_a_commit(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--git-ref", "HEAD"]) == 0
    folder(repository / "contracts/schemas", B)
    assert main(["--git-ref", "HEAD"]) == 1
    assert "breaking: thing.v1.json $.a: property removed" in capsys.readouterr().out


@pytest.mark.parametrize("ref", ["origin/main", "empty"])
@pytest.mark.usefixtures("repository")
def test_the_command_says_that_there_is_nothing_to_compare_with(ref: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--git-ref", ref]) == 0
    assert f"skipped, nothing to compare with: there are no contracts/schemas at {ref}" in capsys.readouterr().out
