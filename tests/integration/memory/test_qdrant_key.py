"""The key that opens a Qdrant server."""

import asyncio

from memory.adapters.qdrant.connection import Qdrant
from memory.settings import Settings

ANSWER = b'{"result": {"collections": []}, "status": "ok", "time": 0}'


async def test_every_request_shows_the_key_if_one_is_set_and_no_log_does() -> None:
    heads: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n")
        writer.write(b"content-length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for key in ("s3cret", ""):
            qdrant = Qdrant(url=url, api_key=key, dimensions=2)
            await qdrant.open()
            await qdrant.ping()
            await qdrant.close()
    assert ["api-key: s3cret" in head for head in heads] == [True, False]
    assert "s3cret" not in repr(Settings(qdrant_api_key="s3cret"))  # type: ignore[arg-type]  # as the environment gives it
