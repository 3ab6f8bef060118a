"""A keep-alive HTTP client of a few lines, so that the client's own weight isn't measured."""

import asyncio
import json
from typing import Any


class Connection:
    """One connection; one request at a time."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
        """Status and JSON of the answer."""
        if self._streams is None or self._streams[0].at_eof():  # the server closed it while it was idle
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        lines = [f"POST {path} HTTP/1.1", f"Host: {self._host}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        return int(head.split(" ")[1]), json.loads(await reader.readexactly(length))

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
