"""Mail over SMTP."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import aiosmtplib

from delivery_center.adapters.mail_text import page, plain, subject
from delivery_center.ports import Parcel, Sent, TriedInVain
from rota_common.errors import Permanent, Transient
from rota_common.secrets import resolve
from rota_contracts.preferences import EmailTarget

STARTTLS: Mapping[str, bool | None] = {"": None, "starttls": True, "none": False}
ANSWER_LIMIT = 500
_SPEC = r"[^@\s<>,;:]+@[^@\s<>,;:]+"
_ADDRESS = re.compile(rf"(?P<name>[^<>\r\n]*)<(?P<named>{_SPEC})>|(?P<bare>{_SPEC})")
"""`ann@example.org` or `Ann <ann@example.org>`."""

EXPECTED = "expected ROTA_SMTP_URL as smtp://[user:password@]host[:port][?tls=starttls|none] or smtps://…"


@dataclass(frozen=True)
class MailServer:
    """`start_tls` None: if the server offers it."""

    host: str
    port: int
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    use_tls: bool = False
    start_tls: bool | None = None


def mail_server(url: str, environ: Mapping[str, str]) -> MailServer | None:
    """The server of ROTA_SMTP_URL; None if it is empty. Raises ValueError, without what may be a password."""
    if not url:
        return None
    parts = urlsplit(url)
    tls = "".join(parse_qs(parts.query).get("tls", [""]))
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or tls not in STARTTLS:
        raise ValueError(EXPECTED)
    try:
        port = parts.port or (465 if parts.scheme == "smtps" else 25)
    except ValueError:
        raise ValueError(EXPECTED) from None
    username, password = (
        resolve(unquote(part), environ) if part else None for part in (parts.username, parts.password)
    )
    start_tls = False if parts.scheme == "smtps" else STARTTLS[tls]
    return MailServer(parts.hostname, port, username, password, parts.scheme == "smtps", start_tls)


class AiosmtplibEmail:
    """One connection per mail. `server` None: no mail is sent, and each target says why."""

    def __init__(
        self, server: MailServer | None, *, timeout: float, default_from: str = "", templates: Path | None = None
    ) -> None:
        self._server, self._timeout = server, timeout
        self._default_from, self._templates = default_from, templates

    async def send(self, target: EmailTarget, parcel: Parcel) -> Sent:
        """Some recipients refused: delivered, and the details say to whom it wasn't."""
        if self._server is None:
            raise Permanent("expected a mail server in ROTA_SMTP_URL: none is set, so no mail is sent")
        to, cc = _addresses(target.to), _addresses(target.cc)
        recipients = [address.addr_spec for address in (*to, *cc)]
        message = self._message(target, parcel, to, cc)
        try:
            refused, answer = await aiosmtplib.send(
                message,
                recipients=recipients,
                hostname=self._server.host,
                port=self._server.port,
                username=self._server.username,
                password=self._server.password,
                use_tls=self._server.use_tls,
                start_tls=self._server.start_tls,
                timeout=self._timeout,
            )
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _named(error) from error
        reached = tuple(address for address in recipients if address not in refused)
        details = {
            "answer": _readable(answer),
            "refused": {address: _readable(said.message) for address, said in refused.items()},
        }
        return Sent(recipients=reached, details=details)

    def _message(
        self, target: EmailTarget, parcel: Parcel, to: Sequence[Address], cc: Sequence[Address]
    ) -> EmailMessage:
        message = EmailMessage()
        message["From"] = self._sender(parcel)
        message["To"] = to
        if cc:
            message["Cc"] = cc
        message["Subject"] = subject(parcel, target.subject)
        message["Date"] = format_datetime(parcel.at)
        message["Message-ID"] = f"<{parcel.delivery_id}@rota>"
        message.set_content(plain(parcel))
        message.add_alternative(page(parcel, target.template, self._templates), subtype="html")
        return message

    def _sender(self, parcel: Parcel) -> Address:
        sender = parcel.robot.robot_email or self._default_from
        if not sender:
            raise Permanent("expected robot_email on the robot, or ROTA_DEFAULT_FROM: a mail needs a From address")
        address = _address(sender)
        name = " ".join(parcel.robot.display_name.split())
        return Address(address.display_name or name, addr_spec=address.addr_spec)


def _addresses(texts: Sequence[str]) -> tuple[Address, ...]:
    return tuple(_address(text) for text in texts)


def _address(text: str) -> Address:
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        raise Permanent(f"expected one address like ann@example.org, not {text!r}")
    try:
        return Address((match["name"] or "").strip(' "'), addr_spec=match["named"] or match["bare"])
    except ValueError as error:
        raise Permanent(f"expected one address like ann@example.org, not {text!r}: {error}") from error


def _readable(text: str) -> str:
    """A server may answer in bytes that are no text; those can't be written as JSON."""
    return text.encode(errors="replace").decode()[:ANSWER_LIMIT]


def _named(error: Exception) -> Exception:
    """SMTP's 4xx may pass, its 5xx never will; a server that isn't there may come back."""
    match error:
        case aiosmtplib.SMTPRecipientsRefused():
            codes = [refusal.code for refusal in error.recipients]
            reason = "; ".join(f"{each.recipient}: {each.code} {each.message}" for each in error.recipients)
            passing = any(code < 500 for code in codes)
            return TriedInVain(reason) if passing else Permanent(reason)
        case aiosmtplib.SMTPResponseException():
            reason = f"the mail server answered {error.code} {error.message}"
            return TriedInVain(reason) if 400 <= error.code < 500 else Permanent(reason)
        case aiosmtplib.SMTPNotSupported():
            return Permanent(f"the mail server can't do what is needed: {error.message}")
        case _:
            return Transient(f"can't reach the mail server: {type(error).__name__} {error}".strip())
