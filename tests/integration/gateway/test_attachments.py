"""Files in the object store of NATS: nothing stays of an upload that fails."""

from collections.abc import AsyncIterator
from typing import Any

import httpx

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.stores.attachments import STREAM
from tests.integration.gateway.harness import Gateway, error_of, gateway, settings

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


async def test_an_upload_over_the_limit_leaves_nothing(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> None:
    async with gateway(settings(nats.url, mongo_url, mongo_prefix, attachment_limit=3 * MIB)) as small:
        small.key = await small.make_team()
        assert (await put(small, bytes(3 * MIB))).status_code == 201
        before = await messages(small)
        for content in (bytes(3 * MIB + 1), in_pieces(4)):  # announced, and found out while reading
            answer = await put(small, content)
            assert error_of(answer) == (413, "too_large")
        assert await messages(small) == before


async def test_an_upload_that_breaks_off_leaves_nothing(empty: Gateway) -> None:
    waiting = [{"type": "http.request", "body": bytes(MIB), "more_body": True}, {"type": "http.disconnect"}]
    seen: list[int] = []

    async def receive() -> dict[str, Any]:
        seen.append(await messages(empty))
        return waiting.pop(0)

    await _asgi(empty, receive)
    assert seen[0] == 0
    assert seen[1] > 0  # the first MiB was passed on before the rest was asked for
    assert await messages(empty) == 0


async def test_without_nats_an_upload_is_a_503(empty: Gateway, nats: EmbeddedServer) -> None:
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
