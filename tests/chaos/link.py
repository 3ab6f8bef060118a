"""The link of a service to a server: a TCP proxy that can be cut and healed, for one service alone; or the way into a
cluster."""

import asyncio
from collections.abc import Callable

from rota_common.runtime.embedded_servers import free_port

HOST = "127.0.0.1"
CHUNK = 65536


class Link:
    """`cut` as a network does: packets are lost, and connections stay as they are; or `reset`: connections break, and
    new ones are refused.

    A member of a MongoDB replica set says its own address, and its clients go there: `own_address` puts the link's into
    what the server says. Both are of one length, as ports have five digits.

    With several `ports`, a new connection goes to the next one that takes it.
    """

    def __init__(self, *ports: int, own_address: bool = False) -> None:
        self._to = ports
        self.port = 0  # once it is open
        self._turn = 0
        self._own_address = own_address
        self._through = asyncio.Event()
        self._through.set()
        self._reset = False
        self._open = set[asyncio.StreamWriter]()
        self._pumps = set[asyncio.Task[None]]()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self.port = free_port()
        self._server = await asyncio.start_server(self._connected, HOST, self.port)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for pump in list(self._pumps):
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        self._break()

    def cut(self, *, reset: bool) -> None:
        self._through.clear()
        self._reset = reset
        if reset:
            self._break()

    def heal(self) -> None:
        self._reset = False
        self._through.set()

    def _break(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._reset:
            writer.transport.abort()
            return
        self._open.add(writer)
        try:
            await self._through.wait()
            from_server, to_server = await self._next()
        except OSError:  # the server is down
            self._open.discard(writer)
            writer.transport.abort()
            return
        self._open.add(to_server)
        self._start(reader, to_server, lambda data: data)
        self._start(from_server, writer, self._as_own if self._own_address else lambda data: data)

    async def _next(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for _ in self._to:
            port = self._to[self._turn % len(self._to)]
            self._turn += 1
            try:
                return await asyncio.open_connection(HOST, port)
            except OSError as error:
                refused = error
        raise refused

    def _as_own(self, data: bytes) -> bytes:
        return data.replace(f"{HOST}:{self._to[0]}".encode(), f"{HOST}:{self.port}".encode())

    def _start(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, change: Callable[[bytes], bytes]
    ) -> None:
        task = asyncio.create_task(self._pump(reader, writer, change))
        self._pumps.add(task)
        task.add_done_callback(self._pumps.discard)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, change: Callable[[bytes], bytes]
    ) -> None:
        try:
            while data := await reader.read(CHUNK):
                await self._through.wait()
                writer.write(change(data))
                await writer.drain()
        except OSError:
            pass
        finally:
            self._open.discard(writer)
            writer.transport.abort() if self._reset else writer.close()
