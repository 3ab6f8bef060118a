"""The mailbox: an SMTP server that knows a mail by its Message-ID."""

import asyncio
import email
import email.policy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.chaos.leads import lead_in
from tests.chaos.trap import Traps
from tests.chaos.witness import Witness


@asynccontextmanager
async def mailbox(witness: Witness, traps: Traps) -> AsyncIterator[str]:
    """Yields its URL."""

    class Handler:
        # aiosmtpd looks the method up by this name.
        async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
            raw = envelope.content if isinstance(envelope.content, bytes) else str(envelope.content).encode()
            mail = email.message_from_bytes(raw, policy=email.policy.default)
            lead = lead_in(str(mail["Subject"]).encode())
            witness.delivered(lead, "mail", str(mail["Message-ID"]))
            await traps.reached("mail", lead)
            return "250 taken"

    handler = Handler()
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(handler, enable_SMTPUTF8=True), "127.0.0.1", 0)
    try:
        yield f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()
