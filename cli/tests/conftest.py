"""Fixtures of command tests: a gateway of the test, and the command itself."""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest
from cli.tests.harness import Gateway

from rota import context_files
from rota.client import Api
from rota.main import main

Answer: TypeAlias = Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Answer], None]:
    """Connects commands to a gateway, in the test's folder."""

    def to(gateway: Answer) -> None:
        monkeypatch.setattr(context_files, "config_folder", lambda: tmp_path / "config")
        monkeypatch.delenv("ROTA_CONTEXT", raising=False)
        monkeypatch.setattr("rota.running.Api", partial(Api, transport=httpx.MockTransport(gateway)))
        for name, value in (("ROTA_URL", "http://gateway"), ("ROTA_TEAM", "main"), ("ROTA_API_KEY", "key")):
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)

    return to


@pytest.fixture
def gateway(connect: Callable[[Answer], None]) -> Any:
    """A gateway with the test's responses."""
    made = Gateway()
    connect(made)
    return made


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Exit code, output and errors of a command without a terminal: its prompts get no answer."""
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(list(words))
        printed = capsys.readouterr()
        return int(caught.value.code or 0), printed.out, printed.err

    return run
