"""Mails composed from a target and an outgoing message: sender, recipients, content."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime
from itertools import zip_longest
from pathlib import Path

from delivery_center.adapters.mail_files import Packed, attach, encoded, encoded_size, pack
from delivery_center.adapters.mail_limits import MailLimits
from delivery_center.adapters.mail_text import mail_template, page, plain, subject
from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.ports import Files
from rota_common.errors import Permanent
from rota_contracts.robots.addresses import parse_address
from rota_contracts.robots.preferences import EmailTarget
from rota_contracts.robots.robot import Robot

MIB = 1024 * 1024
DEFAULT_LIMIT = 20 * MIB
_DOT = re.compile(rb"(?m)^\.")

SEVEN_BIT, SEVEN_BIT_UTF8 = SMTP.clone(cte_type="7bit"), SMTPUTF8.clone(cte_type="7bit")
"""Every server accepts this encoding. The second one is for addresses that are not ASCII."""


@dataclass(frozen=True)
class Recipients:
    to: tuple[Address, ...]
    cc: tuple[Address, ...] = ()

    @property
    def addresses(self) -> list[str]:
        """Each once."""
        return list(dict.fromkeys(address.addr_spec for address in (*self.to, *self.cc)))

    def without(self, unwanted: set[str]) -> "Recipients":
        """`unwanted` in lower case."""
        to, cc = (tuple(each for each in part if each.addr_spec.lower() not in unwanted) for part in (self.to, self.cc))
        return Recipients(to, cc)


@dataclass(frozen=True)
class Mail:
    """`texts` is the message without the contents of its files: each of `files` follows the text at its place."""

    sender: str
    recipients: list[str]
    texts: list[bytes]
    files: list[bytes]
    utf8: bool
    packed: list[Packed]

    @property
    def size(self) -> int:
        return sum(map(len, self.texts)) + sum(map(encoded_size, self.files))

    def chunks(self) -> Iterator[bytes]:
        """As it is sent, with lines that begin with a dot quoted. The files are encoded on the way."""
        for text, file in zip_longest(self.texts, self.files, fillvalue=b""):
            yield _DOT.sub(b"..", text)
            yield from encoded(file)


class Composer:
    """`limit`: bytes of all files of one mail."""

    def __init__(
        self,
        files: Files,
        *,
        limits: MailLimits,
        default_from: str = "",
        templates: Path | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        self._limits = limits
        self._files = files
        self._default_from = default_from
        self._templates = templates
        self.limit = limit

    async def __call__(self, target: EmailTarget, outgoing: OutgoingMessage, recipients: Recipients) -> Mail:
        """Raises Permanent if there is no sender or no such template."""
        sender, reply_to = self._sender(outgoing)
        packed = await pack(self._files, outgoing.attachments, limit=self.limit)
        addresses = recipients.addresses
        shown = [each.addr_spec for each in (sender, reply_to) if each is not None]
        utf8 = not "".join([*shown, *addresses]).isascii()
        message = _headed(outgoing, sender, recipients)
        if reply_to is not None:
            message["Reply-To"] = reply_to
        self._fill(message, target, outgoing, packed)
        return Mail(sender.addr_spec, addresses, *_written(message, packed, utf8=utf8), utf8, packed)

    def _fill(
        self, message: EmailMessage, target: EmailTarget, outgoing: OutgoingMessage, packed: Sequence[Packed]
    ) -> None:
        template = mail_template(target.template, self._templates)
        message["Subject"] = subject(outgoing, target.subject or template.subject)
        message.set_content(plain(outgoing, packed, template.text))
        message.add_alternative(page(outgoing, packed, template.html), subtype="html")

    def _sender(self, outgoing: OutgoingMessage) -> tuple[Address, Address | None]:
        """From, and Reply-To if the robot's address may not be From."""
        team, robot = outgoing.context.team_id, outgoing.robot
        own = _named(_address(robot.robot_email), robot) if robot.robot_email else None
        if own is not None and self._limits.allows_sender(team, own):
            return own, None
        if self._default_from:
            return _named(_address(self._default_from), robot), own
        if own is None:
            raise Permanent("expected robot_email on the robot, or ROTA_DEFAULT_FROM: a mail needs a From address")
        text = f"expected ROTA_DEFAULT_FROM, or {own.domain} among the domains of team {team} in ROTA_MAIL_SENDERS"
        raise Permanent(f"{text}: without one of them no mail is sent from {own.addr_spec}")


def _named(address: Address, robot: Robot) -> Address:
    """With the robot's name, unless it has one."""
    name = " ".join(robot.display_name.split())
    return Address(address.display_name or name, addr_spec=address.addr_spec)


def recipients_of(target: EmailTarget) -> Recipients:
    """Raises Permanent for what is no address."""
    return Recipients(tuple(map(_address, target.to)), tuple(map(_address, target.cc)))


def _headed(outgoing: OutgoingMessage, sender: Address, recipients: Recipients) -> EmailMessage:
    message = EmailMessage(policy=SEVEN_BIT)
    message["From"] = sender
    if recipients.to:
        message["To"] = recipients.to
    if recipients.cc:
        message["Cc"] = recipients.cc
    message["Date"] = format_datetime(outgoing.at)
    message["Message-ID"] = f"<{outgoing.delivery_id}@{sender.domain}>"  # the same at every attempt
    message["Auto-Submitted"] = "auto-generated"  # no out-of-office replies to a robot (RFC 3834)
    return message


def _written(message: EmailMessage, packed: Sequence[Packed], *, utf8: bool) -> tuple[list[bytes], list[bytes]]:
    """The texts and the files of a Mail."""
    placeholders = {placeholder: each.content for each in packed if (placeholder := attach(message, each))}
    left, texts = message.as_bytes(policy=SEVEN_BIT_UTF8 if utf8 else SEVEN_BIT), list[bytes]()
    for placeholder in placeholders:
        text, _, left = left.partition(placeholder)
        texts.append(text)
    return [*texts, left], list(placeholders.values())


def _address(text: str) -> Address:
    try:
        return parse_address(text)
    except ValueError as error:
        raise Permanent(str(error)) from error
