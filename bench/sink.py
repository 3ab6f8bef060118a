"""A sink of signed webhooks: keeps connections, answers 200 at once, and notes when."""

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from time import time
from typing import Any

BODY = b"{}"
WELL = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY
UNSIGNED = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"
PATIENCE_S = 60


class Sink:
    """`at`: name of a run → the instant of its first 2xx, by the machine's clock, which other processes have too.

    `name_of` reads the name in a body.
    """

    def __init__(self, name_of: Callable[[Any], str]) -> None:
        self.port = 0
        self.at: dict[str, float] = {}
        self._name_of = name_of
        self._came: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def reached(self, name: str) -> float:
        """The instant of its 2xx, once it is there; TimeoutError after a minute."""
        await asyncio.wait_for(self._came[name].wait(), PATIENCE_S)
        del self._came[name]
        return self.at[name]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                signed = b"\r\nwebhook-signature:" in head
                writer.write(WELL if signed else UNSIGNED)
                if signed:
                    self._note(self._name_of(json.loads(body)))
        writer.close()

    def _note(self, name: str) -> None:
        self.at.setdefault(name, time())
        self._came[name].set()


@contextlib.asynccontextmanager
async def sink(name_of: Callable[[Any], str]) -> AsyncIterator[Sink]:
    made = Sink(name_of)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, backlog=1000)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


def of_execution(body: Any) -> str:
    """The name that Rota's webhooks carry."""
    return str(body["data"]["context"]["execution_id"])
