"""A receiver of webhooks: answers at once, but never for paths that begin with /dead."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from time import perf_counter

ANSWER = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"
DEAD = "/dead"


class Receiver:
    """`got`: request id → when it came, by this process's clock."""

    def __init__(self) -> None:
        self.port = 0
        self.got: dict[str, float] = {}
        self._hanging: set[asyncio.StreamWriter] = set()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            if head.split(" ")[1].startswith(DEAD):
                self._hanging.add(writer)
                return
            length = int(head.lower().split("content-length:")[1].split("\r\n")[0])
            body = await reader.readexactly(length)
            writer.write(ANSWER)
            self.got[json.loads(body)["data"]["request_id"]] = perf_counter()
        writer.close()

    def hang_up(self) -> None:
        while self._hanging:
            self._hanging.pop().close()


@contextlib.asynccontextmanager
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, backlog=1000)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        made.hang_up()
