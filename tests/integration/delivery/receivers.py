"""External systems on loopback: an HTTP receiver and a mailbox with scripted replies."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

from rota_common.testing.patience import PATIENCE_S


@dataclass(frozen=True)
class Got:
    """A request as it came in."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class HttpReceiver:
    """Answers with `script`, one entry per request (status, headers, body), and then 200 for ever; once it has a
    `manner`, in that."""

    port: int = 0
    got: list[Got] = field(default_factory=list)
    script: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    hold: asyncio.Event | None = None
    manner: "Manner | None" = None
    _more: asyncio.Condition = field(default_factory=asyncio.Condition)

    def url(self, path: str = "/in", *, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def will_answer(self, *statuses: int, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.script += [(status, named, b"as scripted") for status in statuses]

    async def requests(self, count: int, *, timeout: float = PATIENCE_S) -> list[Got]:
        """All that came, once there are `count`."""
        async with asyncio.timeout(timeout), self._more:
            await self._more.wait_for(lambda: len(self.got) >= count)
        return self.got

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            line, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            status, more, answer = self.script.pop(0) if self.script else (200, {}, b"thanks")
            async with self._more:
                self.got.append(Got(line, headers, body))
                self._more.notify_all()
            if self.hold is not None:
                await self.hold.wait()
            if self.manner is not None:
                await self.manner(reader, writer)
                return
            extra = "".join(f"{name}: {value}\r\n" for name, value in more.items())
            head = f"HTTP/1.1 {status} Scripted\r\n{extra}content-length: {len(answer)}\r\n\r\n"
            writer.write(head.encode() + answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


Manner = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""How a receiver that isn't as it should be answers, until the other side has had enough."""


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


def for_ever(piece: bytes, *, after: bytes = b"", every: float = 0.0) -> Manner:
    """`after`, and then the same piece again and again, `every` so many seconds."""

    async def manner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(after)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(every)

    return manner


@asynccontextmanager
async def http_receiver(*, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[HttpReceiver]:
    receiver = HttpReceiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", port, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver


@dataclass
class Mailbox:
    """Keeps what it takes; `refusals` are answered first, one per mail, `unknown` recipients are refused."""

    port: int = 0
    mails: list[tuple[list[str], EmailMessage]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    async def handle_RCPT(  # noqa: N802  # aiosmtpd calls it by this name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.unknown:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  # as above
        if self.refusals:
            return self.refusals.pop(0)
        content: Any = envelope.content
        self.mails.append((list(envelope.rcpt_tos), message_from_bytes(content, policy=policy.default)))
        return "250 taken"


@asynccontextmanager
async def mailbox() -> AsyncIterator[Mailbox]:
    box = Mailbox()
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(box, hostname="mail.test"), "127.0.0.1", 0)
    box.port = server.sockets[0].getsockname()[1]
    async with server:
        yield box
