"""Mail over SMTP."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import aiosmtplib
from aiosmtplib import SMTP

from delivery_center.adapters.byte_budget import ByteBudget
from delivery_center.adapters.mail_bounces import is_hard_bounce
from delivery_center.adapters.mail_files import Packed, room_for
from delivery_center.adapters.mail_limits import DailyMails
from delivery_center.adapters.mail_message import Composer, Mail, recipients_of
from delivery_center.adapters.smtp_envelope import hand_over
from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.ports import Rejected, Sent, Suppressions, TransientReply
from rota_common.errors import Permanent, Transient
from rota_common.runtime.logs import logger
from rota_common.secrets import resolve
from rota_contracts.messages.targets import Suppression
from rota_contracts.robots.preferences import EmailTarget

STARTTLS: Mapping[str, bool | None] = {"": None, "starttls": True, "none": False}
ANSWER_LIMIT = 500

GOODBYE_S = 1.0
MAIL_SERVER = "mail server"
NO_STARTTLS = "it offers no STARTTLS"
EXPECTED = (
    "expected ROTA_SMTP_URL as smtp://host[:port][?tls=starttls|none] or smtps://…, user:password@ before the host "
    "where it asks for them, got a value that isn't shown, as it may hold a password"
)


@dataclass(frozen=True)
class MailServer:
    """`start_tls` None: used if the server offers it."""

    host: str
    port: int
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    use_tls: bool = False
    start_tls: bool | None = None


def mail_server(url: str, environ: Mapping[str, str]) -> MailServer | None:
    """The server of ROTA_SMTP_URL; None if it is empty. Raises ValueError, which quotes nothing of the URL."""
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
    """One connection per mail. `server` None: no mail is sent, and each target fails with the reason.

    In seconds: a mail has `timeout`, one with files `files_timeout`. Each step of the conversation before its content
    has `timeout`. All files in memory at a time are no more than one mail may have.
    """

    def __init__(
        self,
        server: MailServer | None,
        composer: Composer,
        *,
        suppressions: Suppressions,
        daily: DailyMails,
        timeout: float,
        files_timeout: float,
    ) -> None:
        self._server = server
        self._compose = composer
        self._suppressions = suppressions
        self._daily = daily
        self._timeout = timeout
        self._files_timeout = files_timeout
        self._budget = ByteBudget(composer.limit)

    async def send(self, target: EmailTarget, outgoing: OutgoingMessage) -> Sent:
        """Some recipients refused: delivered, and the details say to whom it wasn't."""
        if self._server is None:
            raise Permanent("expected a mail server in ROTA_SMTP_URL: none is set, so no mail is sent")
        wanted = recipients_of(target)
        self._daily.limits.check_recipients(wanted.addresses)
        team = outgoing.context.team_id
        unwanted = await self._suppressions.among(team, [address.lower() for address in wanted.addresses])
        recipients = wanted.without(unwanted)
        suppressed = [address for address in wanted.addresses if address not in recipients.addresses]
        if not recipients.addresses:
            text = f"every recipient is on the suppression list: {', '.join(suppressed)}"
            raise Rejected(text, details={"suppressed": suppressed})
        files = room_for(outgoing.attachments, limit=self._compose.limit)
        limit = self._files_timeout if files else self._timeout
        async with self._budget.taken(files), self._daily.counted(team, outgoing.at):
            mail = await self._compose(target, outgoing, recipients)
            return await self._send(self._server, mail, outgoing, suppressed, limit=limit)

    async def _send(
        self, server: MailServer, mail: Mail, outgoing: OutgoingMessage, suppressed: list[str], *, limit: float
    ) -> Sent:
        details: dict[str, Any] = {"suppressed": suppressed, **_of_files(mail.packed)}
        try:
            refused, answer = await _transmit(server, mail, timeout=self._timeout, limit=limit)
        except aiosmtplib.SMTPRecipientsRefused as error:
            refusals = [_Refusal(each.recipient, each.code, _readable(each.message)) for each in error.recipients]
            await self._note_bounces(refusals, outgoing)
            raise _all_refused(refusals, details) from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _named(error, limit) from error
        refusals = [_Refusal(address, reply.code, _readable(reply.message)) for address, reply in refused.items()]
        await self._note_bounces(refusals, outgoing)
        reached = tuple(address for address in mail.recipients if address not in refused)
        return Sent(reached, {"answer": _readable(answer), "refused": _messages(refusals), **details})

    async def _note_bounces(self, refusals: Sequence["_Refusal"], outgoing: OutgoingMessage) -> None:
        """Suppress the recipients that do not exist."""
        for refusal in refusals:
            if not is_hard_bounce(refusal.code, refusal.message):
                continue
            suppression = Suppression(
                team_id=outgoing.context.team_id,
                address=refusal.recipient.lower(),
                reason=f"{refusal.code} {refusal.message}",
                by=MAIL_SERVER,
                created_at=outgoing.at,
            )
            try:
                await self._suppressions.add(suppression)
            except Exception:  # the server's reply to the mail counts more; the next mail there bounces again
                logger(service="delivery-center").exception("can't suppress", delivery_id=outgoing.delivery_id)


@dataclass(frozen=True)
class _Refusal:
    recipient: str
    code: int
    message: str


async def _transmit(
    server: MailServer, mail: Mail, *, timeout: float, limit: float
) -> tuple[dict[str, aiosmtplib.SMTPResponse], str]:
    """The refused recipients, and the server's reply. Once the content is accepted, no failure counts any more."""
    client = SMTP(
        hostname=server.host, port=server.port, use_tls=server.use_tls, start_tls=server.start_tls, timeout=timeout
    )
    try:
        async with asyncio.timeout(limit):
            await client.connect()
            await _log_in(client, server)
            reply = await hand_over(client, mail, timeout=limit)
        with contextlib.suppress(aiosmtplib.SMTPException, OSError):
            await client.quit(timeout=GOODBYE_S)
        return reply
    finally:
        client.close()


async def _log_in(client: SMTP, server: MailServer) -> None:
    """Never in the clear, unless the operator set `tls=none`."""
    if server.username is None:
        return
    if client.get_transport_info("sslcontext") is None and server.start_tls is not False:
        raise aiosmtplib.SMTPException(f"{NO_STARTTLS}, and the password isn't sent in the clear")
    await client.login(server.username, server.password or "")


def _of_files(packed: Sequence[Packed]) -> dict[str, Any]:
    """The files in the details; nothing if there are none."""
    if not packed:
        return {}
    attached = [each.stored.name for each in packed if each.stored and not each.left_out]
    left_out = [
        {"title": each.attachment.title, "file": each.attachment.file, "reason": each.left_out}
        for each in packed
        if each.left_out
    ]
    return {"attached": attached, "not_attached": left_out}


def _messages(refusals: Sequence[_Refusal]) -> dict[str, str]:
    return {each.recipient: each.message for each in refusals}


def _readable(text: str) -> str:
    """A server may reply with bytes that are not text; those can't be written as JSON."""
    return text.encode(errors="replace").decode()[:ANSWER_LIMIT]


def _all_refused(refusals: Sequence[_Refusal], details: dict[str, Any]) -> Exception:
    """Retried if one of the refusals may be temporary."""
    reason = "; ".join(f"{each.recipient}: {each.code} {each.message}" for each in refusals)
    published = {"refused": _messages(refusals), **details}
    if any(each.code < 500 for each in refusals):
        return TransientReply(reason, details=published)
    return Rejected(reason, details=published)


def _named(error: Exception, limit: float) -> Exception:
    """4xx is retried, 5xx is final; an unreachable server is retried."""
    match error:
        case aiosmtplib.SMTPResponseException():
            reason = f"the mail server answered {error.code} {_readable(error.message)}"
            return TransientReply(reason) if 400 <= error.code < 500 else Permanent(reason)
        case aiosmtplib.SMTPNotSupported():
            return Permanent(f"the mail server can't do what is needed: {error.message}")
        case aiosmtplib.SMTPConnectError():
            return Transient(f"can't reach the mail server: {error.message}")
        case aiosmtplib.SMTPServerDisconnected():
            return Transient(f"the mail server broke off: {error.message}")
        case TimeoutError():
            return Transient(f"the mail server didn't answer in time, within {limit:g} s at most")
        case aiosmtplib.SMTPException():
            return Transient(f"the mail server didn't take the mail: {error.message}")
        case _:
            return Transient(f"can't reach the mail server: {type(error).__name__} {error}".strip())
