"""`rota attachments`: the upload request, and the downloaded file."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from cli.tests.harness import TEAM, Command

FILE_ID = "0f" * 16
DISPOSITION = "attachment; filename=\"_bersicht.csv\"; filename*=UTF-8''" + quote("Übersicht.csv")

LISTED = {
    "created_at": "2026-03-02T09:00:00Z",
    "file_id": FILE_ID,
    "name": "a.csv",
    "content_type": "text/csv",
    "size": 4,
}


class Gateway:
    """Keeps what it is sent, and gives out `content` under the name that `disposition` says."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.content = b"a,b\n" * 50_000
        self.disposition = DISPOSITION
        self.breaks_off = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.method == "POST":
            kept = {"name": request.url.params["name"], "size": len(request.content), "file_id": FILE_ID}
            return httpx.Response(201, json=kept | {"file": f"__rota.attachment://{FILE_ID}"})
        if request.url.path == f"{TEAM}/attachments":
            return httpx.Response(200, json={"attachments": [LISTED], "next": "c2"})
        if request.url.path != f"{TEAM}/attachments/{FILE_ID}":
            return httpx.Response(404, json={"error": {"code": "attachment_not_found", "message": "no such file"}})
        if request.method == "DELETE":
            return httpx.Response(204)
        body = self._broken() if self.breaks_off else self.content
        return httpx.Response(200, content=body, headers={"content-disposition": self.disposition})

    async def _broken(self) -> AsyncIterator[bytes]:
        yield self.content[:10]
        raise httpx.RemoteProtocolError("peer closed connection")


@pytest.fixture
def gateway(connect: Callable[[Gateway], None]) -> Gateway:
    made = Gateway()
    connect(made)
    return made


def test_a_file_is_sent_with_its_name_type_and_size(gateway: Gateway, command: Command, tmp_path: Path) -> None:
    (tmp_path / "leads.csv").write_bytes(gateway.content)
    code, out, _ = command("attachments", "put", "leads.csv")
    assert (code, out) == (0, f"leads.csv: stored, 200,000 bytes; in a result it is __rota.attachment://{FILE_ID}\n")
    (request,) = gateway.requests
    assert (request.url.path, request.url.params["name"]) == (f"{TEAM}/attachments", "leads.csv")
    assert (request.headers["content-type"], request.headers["content-length"]) == ("text/csv", "200000")
    assert request.content == gateway.content


def test_name_and_type_can_be_given(gateway: Gateway, command: Command, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    code, out, _ = command("attachments", "put", "x", "--name", "Q1.bin", "--type", "a/b", "--json")
    assert (code, json.loads(out)["name"]) == (0, "Q1.bin")
    assert gateway.requests[0].headers["content-type"] == "a/b"
    command("attachments", "put", "x")
    assert gateway.requests[1].headers["content-type"] == "application/octet-stream"


def test_a_missing_file_is_named_in_the_error(gateway: Gateway, command: Command) -> None:
    code, _, err = command("attachments", "put", "none.csv")
    assert (code, gateway.requests) == (1, [])
    assert "can't open none.csv: No such file or directory" in err


@pytest.mark.parametrize("wanted", [FILE_ID, f"__rota.attachment://{FILE_ID}"])
def test_a_file_is_written_under_its_name(gateway: Gateway, command: Command, tmp_path: Path, wanted: str) -> None:
    code, out, _ = command("attachments", "get", wanted)
    assert (code, out) == (0, "Übersicht.csv: 200,000 bytes\n")
    assert (tmp_path / "Übersicht.csv").read_bytes() == gateway.content


def test_a_name_with_folders_is_written_here(gateway: Gateway, command: Command, tmp_path: Path) -> None:
    gateway.disposition = 'attachment; filename="../../evil.sh"'
    code, out, _ = command("attachments", "get", FILE_ID)
    assert (code, out) == (0, "evil.sh: 200,000 bytes\n")
    assert (tmp_path / "evil.sh").exists()


def test_an_existing_file_is_not_overwritten(gateway: Gateway, command: Command, tmp_path: Path) -> None:
    (tmp_path / "Übersicht.csv").write_bytes(b"mine")
    code, _, err = command("attachments", "get", FILE_ID)
    assert (code, (tmp_path / "Übersicht.csv").read_bytes()) == (1, b"mine")
    assert "Übersicht.csv exists" in err
    code, out, _ = command("attachments", "get", FILE_ID, "-o", "other.csv", "--json")
    assert (code, json.loads(out)) == (0, {"file": "other.csv", "size": 200_000})


def test_an_interrupted_download_leaves_no_file(gateway: Gateway, command: Command, tmp_path: Path) -> None:
    gateway.breaks_off = True
    code, _, err = command("attachments", "get", FILE_ID)
    assert (code, list(tmp_path.iterdir())) == (1, [])
    assert "peer closed connection" in err


def test_an_unknown_file_is_not_found(gateway: Gateway, command: Command) -> None:
    code, _, err = command("attachments", "get", "1" * 32)
    assert (code, "no such file (404 attachment_not_found)" in err) == (1, True)


def test_a_file_is_deleted_once_it_is_confirmed(gateway: Gateway, command: Command) -> None:
    code, out, _ = command("attachments", "delete", f"__rota.attachment://{FILE_ID}", "--yes")
    assert (code, out) == (0, f"{FILE_ID}: deleted\n")
    (request,) = gateway.requests
    assert (request.method, request.url.path) == ("DELETE", f"{TEAM}/attachments/{FILE_ID}")


def test_files_are_listed_with_the_way_to_the_next_page(gateway: Gateway, command: Command) -> None:
    code, out, _ = command("attachments", "list", "--limit", "1", "--after", "c1")
    assert (code, dict(gateway.requests[0].url.params)) == (0, {"limit": "1", "after": "c1"})
    assert out.splitlines()[1].split() == ["2026-03-02", "09:00:00", FILE_ID, "a.csv", "text/csv", "4"]
    assert out.splitlines()[2] == "next page: --after c2"
