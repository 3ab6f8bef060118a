"""The command for feed clients without the CLI: its failures are one line, its list is text."""

from pathlib import Path

import nats.errors
import pytest

from rota_common.nats_admin import feed_clients
from rota_common.nats_admin.feed_client_admin import FeedClient, FeedClientError


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (FeedClientError("team main has a feed client crm already"), "already"),
        (nats.errors.Error("nats: 'Authorization Violation'"), "name the folder of its own configuration"),
        (FileNotFoundError(2, "no", "keys/operator/nats.nk"), "expected a key in keys/operator/nats.nk: there is none"),
        (OSError("refused"), "correct ROTA_NATS_URL"),
    ],
)
def test_a_failure_is_one_line_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    error: Exception,
    says: str,
) -> None:
    async def fail(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr(feed_clients.FeedClients, "add", fail)
    assert feed_clients.main(["add", "main", "crm", "--config", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines()), says in err) == ("", 1, True), err


def test_the_list_is_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async def listed(*_: object) -> list[FeedClient]:
        return [FeedClient("main", "crm", 3, 0, calls=True), FeedClient("main", "new", None, None)]

    monkeypatch.setattr(feed_clients.FeedClients, "listed", listed)
    assert feed_clients.main(["list", "--config", str(tmp_path)]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["TEAM", "NAME", "WAITING", "UNACKNOWLEDGED", "CALLS"],
        ["main", "crm", "3", "0", "yes"],
        ["main", "new", *["no", "consumer", "no", "consumer", "no"]],
    ]
