"""What tests of commands share: a gateway of the test's own that answers them."""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest
from cli.tests.harness import Gateway

from rota import context
from rota.client import Api
from rota.main import main

Answer: TypeAlias = Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Answer], None]:
    """Lets commands reach a gateway; their working folder is the test's own."""

    def to(gateway: Answer) -> None:
        monkeypatch.setattr(context, "context_file", lambda: tmp_path / "none.json")
        monkeypatch.setattr("rota.running.Api", partial(Api, transport=httpx.MockTransport(gateway)))
        for name, value in (("ROTA_URL", "http://gateway"), ("ROTA_TEAM", "main"), ("ROTA_API_KEY", "key")):
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)

    return to


@pytest.fixture
def gateway(connect: Callable[[Answer], None]) -> Any:
    """It says what the test tells it to; a test file may have another one."""
    made = Gateway()
    connect(made)
    return made


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Exit code, output and errors of a command that nobody sits before: what it asks is not answered."""
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(list(words))
        told = capsys.readouterr()
        return int(caught.value.code or 0), told.out, told.err

    return run
