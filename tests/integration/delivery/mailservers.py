"""Mail servers on loopback that do what real ones do: TLS and passwords, refusals at each step, broken connections."""

import asyncio
import ipaddress
import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from rota_common.clock import now as clock

USER, PASSWORD = "rota", "p:w/ü"


@dataclass
class MailServer:
    """`replies` are given first, one each time, by the name of the step; then all is taken. `drops`: how many mails are
    followed by a broken connection instead of an answer. `slow`: seconds before a mail is answered."""

    port: int = 0
    replies: dict[str, list[str]] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    drops: int = 0
    slow: float = 0
    seen: list[EmailMessage] = field(default_factory=list)
    taken: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)

    def url(self, *, user: str = "", tls: str = "") -> str:
        return f"smtp://{user}localhost:{self.port}{f'?tls={tls}' if tls else ''}"

    def _reply(self, step: str) -> str | None:
        scripted = self.replies.get(step, [])
        return scripted.pop(0) if scripted else None

    def authenticate(self, server: SMTP, session: Session, envelope: Envelope, kind: str, data: Any) -> AuthResult:
        if not isinstance(data, LoginPassword):
            return AuthResult(success=False, handled=False)
        self.logins.append((data.login, data.password))
        right = (data.login, data.password) == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=right, handled=right)

    async def handle_MAIL(  # noqa: N802  # aiosmtpd calls these by such names
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        reply = self._reply("MAIL")
        if reply is None:
            envelope.mail_from = address
        return reply or "250 OK"

    async def handle_RCPT(  # noqa: N802  # as above
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        reply = self.unknown.get(address) or self._reply("RCPT")
        if reply is None:
            envelope.rcpt_tos.append(address)
        return reply or "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  # as above
        content: Any = envelope.content
        self.seen.append(message_from_bytes(content, policy=policy.default))
        if self.drops:
            self.drops -= 1
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
            return "250 lost with the connection"
        await asyncio.sleep(self.slow)  # it is the slowness that is tested
        if reply := self._reply("DATA"):
            return reply
        self.taken.append(self.seen[-1])
        self.recipients.append(list(envelope.rcpt_tos))
        self.encrypted.append(session.ssl is not None)
        return "250 taken"


@asynccontextmanager
async def mail_server(*, tls: ssl.SSLContext | None = None, password: bool = False) -> AsyncIterator[MailServer]:
    """With `tls` it offers STARTTLS; with `password` it takes no mail without USER and PASSWORD, in the clear too."""
    made = MailServer()
    options: dict[str, Any] = (
        {"authenticator": made.authenticate, "auth_required": True, "auth_require_tls": False} if password else {}
    )
    options |= {"data_size_limit": 50_000_000}

    def connection() -> SMTP:
        with warnings.catch_warnings(action="ignore"):  # that it takes passwords in the clear: so it should
            return SMTP(made, hostname="mail.test", tls_context=tls, **options)

    server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made


def certificate(folder: Path, *, host: str = "localhost") -> tuple[ssl.SSLContext, Path]:
    """A server's side of TLS, signed by itself; and the file that makes a client trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)]), clock()
    names = [x509.DNSName(host), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    trusted, private = folder / "mail.pem", folder / "mail.key"
    trusted.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret = serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(trusted, private)
    return context, trusted
