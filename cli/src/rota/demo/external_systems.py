"""External systems of the demo: a webhook receiver, a mailbox and a NATS client. None uses Rota's code."""

import asyncio
import contextlib
import email
import email.policy
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any, Generic, TypeVar

import nats
from aiosmtpd.smtp import SMTP, Envelope, Session
from nats.aio.msg import Msg
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rota.server.http import listening, serving

T = TypeVar("T")


@dataclass
class Inbox(Generic[T]):
    """The items a system has received. `url` is its address."""

    url: str = ""
    received: list[T] = field(default_factory=list)
    _more: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def put(self, item: T) -> None:
        async with self._more:
            self.received.append(item)
            self._more.notify_all()

    async def wait(self, count: int) -> None:
        """Return once `count` items have been received."""
        async with self._more:
            await self._more.wait_for(lambda: len(self.received) >= count)


@dataclass(frozen=True)
class Hook:
    """A received webhook; `verified` by the standardwebhooks package with the receiver's secret."""

    id: str
    verified: bool
    body: dict[str, Any]


@dataclass(frozen=True)
class Fact:
    """A received message of the bus."""

    subject: str
    id: str
    body: bytes


@contextlib.asynccontextmanager
async def webhook_receiver(secret: str) -> AsyncIterator[Inbox[Hook]]:
    """An HTTP server that accepts signed webhooks at `inbox.url`; a wrong signature gets a 401."""
    inbox: Inbox[Hook] = Inbox()

    async def receive(request: Request) -> Response:
        raw, verified = await request.body(), True
        try:
            Webhook(secret).verify(raw, dict(request.headers), json_parse=False)
        except WebhookVerificationError:
            verified = False
        await inbox.put(Hook(request.headers.get("webhook-id", ""), verified, await request.json()))
        return Response(status_code=204 if verified else 401)

    app = Starlette(routes=[Route("/sales-leads", receive, methods=["POST"])])
    async with serving(app, listening(0)) as url:
        inbox.url = f"{url}/sales-leads"
        yield inbox


@contextlib.asynccontextmanager
async def mailbox() -> AsyncIterator[Inbox[EmailMessage]]:
    """An SMTP server that accepts every mail at `inbox.url`."""
    inbox: Inbox[EmailMessage] = Inbox()

    class Handler:
        # aiosmtpd looks the method up by this name.
        async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
            raw = envelope.content if isinstance(envelope.content, bytes) else str(envelope.content).encode()
            await inbox.put(email.message_from_bytes(raw, policy=email.policy.default))
            return "250 accepted"

    handler = Handler()
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(handler, enable_SMTPUTF8=True), "127.0.0.1", 0)
    inbox.url = f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield inbox
    finally:
        server.close()
        await server.wait_closed()


@contextlib.asynccontextmanager
async def feed(nats_url: str, subject: str, *, seed: str | None = None) -> AsyncIterator[Inbox[Fact]]:
    """A plain NATS subscription to `subject`, with the key of `seed` if the server requires one."""
    inbox: Inbox[Fact] = Inbox(url=subject)

    async def on_message(message: Msg) -> None:
        await inbox.put(Fact(message.subject, (message.headers or {}).get("ce-id", ""), message.data))

    client = await nats.connect(nats_url, nkeys_seed_str=seed)
    try:
        await client.subscribe(subject, cb=on_message)
        await client.flush()
        yield inbox
    finally:
        await client.close()
