"""Files over HTTP: put, given out as they were, limited while they come in, and a team's own."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from random import Random
from typing import Any

import httpx
import pytest

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.stores.attachments import STREAM
from tests.integration.gateway.harness import ADMIN, Gateway, fields_of, gateway, settings
from tests.integration.gateway.test_webhooks import error_of

FILES = "/v1/teams/acme/attachments"
MIB = 1024 * 1024


async def put(to: Gateway, content: Any = b"a,b\n", *, name: str = "leads.csv", **more: Any) -> httpx.Response:
    headers = {"content-type": "text/csv"} | more.pop("headers", {})
    return await to.call("POST", FILES, params={"name": name}, content=content, headers=headers, **more)


async def messages(of: Gateway) -> int:
    return int((await of.app.service.bus.jetstream.stream_info(STREAM)).state.messages)


async def in_pieces(count: int, size: int = MIB) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield bytes(size)


async def test_a_file_is_given_out_as_it_was_put(empty: Gateway) -> None:  # DC-04
    content = Random(7).randbytes(10_000_000)
    made = await put(empty, content)
    assert made.status_code == 201, made.text
    told = made.json()
    digest = sha256(content).hexdigest()
    assert told == {
        "file_id": told["file_id"],
        "file": f"__rota.attachment://{told['file_id']}",
        "name": "leads.csv",
        "content_type": "text/csv",
        "size": 10_000_000,
        "sha256": digest,
    }
    got = await empty.call("GET", f"{FILES}/{told['file_id']}", key=await empty.make_key("viewer"))
    assert (got.status_code, got.content == content) == (200, True)
    wanted = {
        "content-type": "text/csv",
        "content-length": "10000000",
        "content-disposition": 'attachment; filename="leads.csv"',
        "etag": f'"{digest}"',
        "x-content-type-options": "nosniff",
    }
    assert wanted.items() <= got.headers.items()


async def test_an_empty_file_and_one_without_a_type_are_files_too(empty: Gateway) -> None:
    made = await put(empty, b"", headers={"content-type": ""})
    assert (made.json()["size"], made.json()["content_type"]) == (0, "application/octet-stream")
    got = await empty.call("GET", f"{FILES}/{made.json()['file_id']}")
    assert (got.status_code, got.content) == (200, b"")


async def test_a_name_in_any_script_survives(empty: Gateway) -> None:
    made = await put(empty, name='Ümsätze "Q1" 📈.csv')
    got = await empty.call("GET", f"{FILES}/{made.json()['file_id']}")
    assert got.headers["content-disposition"] == (
        "attachment; filename=\"_ms_tze _Q1_ _.csv\"; filename*=UTF-8''%C3%9Cms%C3%A4tze%20%22Q1%22%20%F0%9F%93%88.csv"
    )


@pytest.mark.parametrize("name", ["", "..", " . ", "a/b", "a\\b", "a\r\nSet-Cookie: x", "x\u202efdp.exe", "a" * 201])
async def test_what_is_no_name_of_a_file_is_refused(empty: Gateway, name: str) -> None:
    answer = await put(empty, name=name)
    assert (answer.status_code, list(fields_of(answer))) == (422, ["name"])


@pytest.mark.parametrize("given", ["csv", "text/", "text/csv\u00e9", "a/b; " + "c" * 200])
async def test_what_is_no_type_is_refused(empty: Gateway, given: str) -> None:
    answer = await put(empty, headers={"content-type": given.encode("latin-1")})
    assert (answer.status_code, list(fields_of(answer))) == (422, ["Content-Type"])


async def test_a_file_is_limited_while_it_comes_in_and_nothing_of_it_stays(
    nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    async with gateway(settings(nats.url, mongo_url, mongo_prefix, attachment_limit=3 * MIB)) as small:
        small.key = await small.make_team()
        assert (await put(small, bytes(3 * MIB))).status_code == 201
        before = await messages(small)
        for content in (bytes(3 * MIB + 1), in_pieces(4)):  # announced, and only found out
            answer = await put(small, content)
            assert error_of(answer) == (413, "too_large")
        assert await messages(small) == before


async def test_a_file_that_breaks_off_leaves_nothing(empty: Gateway) -> None:
    waiting = [{"type": "http.request", "body": bytes(MIB), "more_body": True}, {"type": "http.disconnect"}]
    seen: list[int] = []

    async def receive() -> dict[str, Any]:
        seen.append(await messages(empty))
        return waiting.pop(0)

    await _asgi(empty, receive)
    assert seen[0] == 0
    assert seen[1] > 0  # the first MiB was passed on before the rest was asked for
    assert await messages(empty) == 0


async def test_a_file_is_given_out_piece_by_piece(empty: Gateway) -> None:
    file_id = (await put(empty, bytes(MIB))).json()["file_id"]

    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        return asked.pop() if asked else await asyncio.Future()

    sent = await _asgi(empty, receive, method="GET", path=f"{FILES}/{file_id}")
    bodies = [len(message["body"]) for message in sent if message["type"] == "http.response.body"]
    assert (sum(bodies), max(bodies)) == (MIB, 128 * 1024)


async def test_a_file_is_of_one_team(empty: Gateway) -> None:
    file_id = (await put(empty)).json()["file_id"]
    other = await empty.make_team("other")
    theirs = await empty.call("GET", f"/v1/teams/other/attachments/{file_id}", key=other)
    assert error_of(theirs) == (404, "attachment_not_found")
    for method, path in (("GET", f"{FILES}/{file_id}"), ("POST", f"{FILES}?name=a")):
        answer = await empty.call(method, path, key=other)
        assert error_of(answer) == (403, "foreign_team")
    assert (await empty.call("GET", f"{FILES}/{file_id}", key=ADMIN)).status_code == 200


async def test_only_members_put_files_and_nobody_does_without_a_key(empty: Gateway) -> None:
    before = await messages(empty)
    for key, status in ((await empty.make_key("viewer"), 403), ("", 401)):
        assert (await put(empty, key=key)).status_code == status
    assert await messages(empty) == before
    assert (await put(empty, key=await empty.make_key("member"))).status_code == 201


@pytest.mark.parametrize(("file_id", "status"), [("0" * 32, 404), ("short", 422), ("a.b%2F" + "c" * 20, 404)])
async def test_a_file_that_is_not_there_is_not_found(empty: Gateway, file_id: str, status: int) -> None:
    assert (await empty.call("GET", f"{FILES}/{file_id}")).status_code == status


async def test_without_nats_files_have_to_wait(empty: Gateway, nats: EmbeddedServer) -> None:
    await nats.kill()
    answer = await put(empty)
    assert error_of(answer) == (503, "unavailable")


async def _asgi(
    to: Gateway, receive: Any, *, method: str = "POST", path: str = FILES, query: bytes = b"name=a.bin"
) -> list[dict[str, Any]]:
    """A request whose body comes as `receive` says, and the messages of its answer."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"authorization", f"Bearer {to.key}".encode())]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http"}
    where = {"path": path, "raw_path": path.encode(), "root_path": "", "query_string": query, "headers": headers}
    await to.app.http({**scope, **where, "server": ("gateway", 80), "client": ("test", 1)}, receive, send)
    return sent
