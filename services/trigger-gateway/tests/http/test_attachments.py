"""Files over HTTP: stored, returned unchanged, limited while they are read, separate for each team."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from random import Random
from typing import Any

import httpx

from rota_common.clock import now
from rota_common.errors import Transient
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.in_memory_stores import InMemoryAttachments
from rota_common.testing.samples import SetClock
from rota_contracts.catalog import RESERVE_ATTACHMENT
from rota_contracts.messages.attachment import ReserveAttachment

from .asgi import request
from .harness import ADMIN, Gateway, error_of, fields_of, gateway, settings

FILES = "/v1/teams/acme/attachments"
MIB = 1024 * 1024


async def put(to: Gateway, content: Any = b"a,b\n", *, name: str = "leads.csv", **more: Any) -> httpx.Response:
    headers = {"content-type": "text/csv"} | more.pop("headers", {})
    return await to.call("POST", FILES, params={"name": name}, content=content, headers=headers, **more)


async def in_pieces(count: int, size: int = MIB) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield bytes(size)


async def test_a_file_is_returned_unchanged(empty: Gateway) -> None:  # DC-04
    content = Random(7).randbytes(1_000_000)
    made = await put(empty, content)
    assert made.status_code == 201, made.text
    stored = made.json()
    digest = sha256(content).hexdigest()
    assert stored == {
        "file_id": stored["file_id"],
        "file": f"__rota.attachment://{stored['file_id']}",
        "name": "leads.csv",
        "content_type": "text/csv",
        "size": 1_000_000,
        "sha256": digest,
    }
    got = await empty.call("GET", f"{FILES}/{stored['file_id']}", key=await empty.make_key("viewer"))
    assert (got.status_code, got.content == content) == (200, True)
    wanted = {
        "content-type": "text/csv",
        "content-length": "1000000",
        "content-disposition": 'attachment; filename="leads.csv"',
        "etag": f'"{digest}"',
        "x-content-type-options": "nosniff",
    }
    assert wanted.items() <= got.headers.items()


async def test_a_file_may_be_empty_and_have_no_type(empty: Gateway) -> None:
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


async def test_a_name_that_is_no_file_name_is_refused(empty: Gateway) -> None:
    for name in ("", "..", " . ", "a/b", "a\\b", "a\r\nSet-Cookie: x", "x\u202efdp.exe", "a" * 201):
        assert list(fields_of(await put(empty, name=name))) == ["name"], name


async def test_a_content_type_that_is_none_is_refused(empty: Gateway) -> None:
    for given in ("csv", "text/", "text/csv\u00e9", "a/b; " + "c" * 200):
        answer = await put(empty, headers={"content-type": given.encode("latin-1")})
        assert list(fields_of(answer)) == ["Content-Type"], given


async def test_a_file_over_the_limit_is_refused() -> None:
    async with gateway(settings(attachment_limit=3 * MIB)) as small:
        small.key = await small.make_team()
        assert (await put(small, bytes(3 * MIB))).status_code == 201
        for content in (bytes(3 * MIB + 1), in_pieces(4)):  # announced, and found out while reading
            answer = await put(small, content)
            assert error_of(answer) == (413, "too_large")


async def test_a_service_reserves_room_for_a_file_once_and_within_the_share() -> None:  # EX-92
    async with gateway(settings(attachments_per_team=2, attachment_limit=MIB)) as small:
        small.key = await small.make_team()

        async def refused(number: int, size: int = 5) -> str:
            wanted = ReserveAttachment(team_id="acme", file_id=f"file-number-{number}", size=size)
            return (await small.bus.ask(RESERVE_ATTACHMENT, wanted)).refused

        assert [await refused(1), await refused(1), await refused(2)] == ["", "", ""]
        assert "the team has 2 of 2 attachments" in await refused(3)
        assert (await refused(4, MIB + 1)).startswith(f"expected a file of at most {MIB} bytes")
        assert (await put(small)).status_code == 409


async def test_a_file_is_sent_in_chunks(empty: Gateway) -> None:
    file_id = (await put(empty, bytes(MIB))).json()["file_id"]

    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        return asked.pop() if asked else await asyncio.Future()

    sent = await request(empty, "GET", f"{FILES}/{file_id}", receive)
    bodies = [len(message["body"]) for message in sent if message["type"] == "http.response.body"]
    assert (sum(bodies), max(bodies)) == (MIB, 128 * 1024)


async def test_a_file_belongs_to_one_team(empty: Gateway) -> None:
    file_id = (await put(empty)).json()["file_id"]
    other = await empty.make_team("other")
    theirs = await empty.call("GET", f"/v1/teams/other/attachments/{file_id}", key=other)
    assert error_of(theirs) == (404, "attachment_not_found")
    for method, path in (("GET", f"{FILES}/{file_id}"), ("POST", f"{FILES}?name=a")):
        answer = await empty.call(method, path, key=other)
        assert error_of(answer) == (403, "foreign_team")
    assert (await empty.call("GET", f"{FILES}/{file_id}", key=ADMIN)).status_code == 200


async def test_an_upload_needs_a_key_of_a_member(empty: Gateway) -> None:
    for key, status in ((await empty.make_key("viewer"), 403), ("", 401)):
        assert (await put(empty, key=key)).status_code == status
    assert (await put(empty, key=await empty.make_key("member"))).status_code == 201


async def test_an_unknown_file_is_not_found(empty: Gateway) -> None:
    for file_id, status in (("0" * 32, 404), ("short", 422), ("a.b%2F" + "c" * 20, 404)):
        assert (await empty.call("GET", f"{FILES}/{file_id}")).status_code == status, file_id


async def test_while_the_store_is_away_an_upload_is_a_503(empty: Gateway) -> None:
    store = empty.adapters.attachments
    assert isinstance(store, InMemoryAttachments)
    store.failure = Transient("NATS: not connected")
    assert error_of(await put(empty)) == (503, "unavailable")


async def test_files_are_listed_page_by_page_the_newest_first() -> None:
    bus, clock = InMemoryBus(), SetClock(now())
    async with gateway(bus=bus, runtime=Runtime(bus=bus, clock=clock)) as acme:
        acme.key = await acme.make_team()
        other = await acme.make_team("other")
        made = []
        for number in range(4):
            clock.forward(1)
            made.append((await put(acme, name=f"{number}.csv")).json())
        await acme.call("DELETE", f"{FILES}/{made.pop(1)['file_id']}")
        first = (await acme.call("GET", FILES, params={"limit": 2})).json()
        rest = (await acme.call("GET", FILES, params={"limit": 2, "after": first["next"]})).json()
        assert [each["name"] for each in first["attachments"]] == ["3.csv", "2.csv"]
        assert (rest["attachments"], rest["next"]) == (
            [made[0] | {"created_at": rest["attachments"][0]["created_at"]}],
            "",
        )
        assert set(fields_of(await acme.call("GET", FILES, params={"after": "x"}))) == {"after"}
        theirs = await acme.call("GET", FILES.replace("acme", "other"), key=other)
        assert theirs.json() == {"attachments": [], "next": ""}
