"""The envelope of one mail: sender, recipients and content, streamed so that the content is never copied whole."""

import asyncio
import contextlib
from typing import cast

from aiosmtplib import (
    SMTP,
    SMTPDataError,
    SMTPHeloError,
    SMTPNotSupported,
    SMTPRecipientRefused,
    SMTPRecipientsRefused,
    SMTPResponse,
    SMTPResponseException,
    SMTPServerDisconnected,
)

from delivery_center.adapters.mail_message import Mail

CONTINUE, COMPLETED = 354, 250
BUFFERED = 256 * 1024
"""Bytes that may wait in the connection's buffer."""

DRAIN_S = 0.005


async def hand_over(client: SMTP, mail: Mail, *, timeout: float) -> tuple[dict[str, SMTPResponse], str]:
    """The refused recipients, and the server's reply. `timeout`: seconds of each reply."""
    if client.is_ehlo_or_helo_needed:
        with contextlib.suppress(SMTPHeloError):  # it is greeted again, with HELO
            await client.ehlo(timeout=timeout)
    try:
        await client.mail(mail.sender, options=_options(client, mail), encoding=_encoding(mail), timeout=timeout)
        refused = await _recipients(client, mail, timeout)
        return refused, await _content(client, mail, timeout)
    except (SMTPResponseException, SMTPRecipientsRefused):
        with contextlib.suppress(ConnectionError, SMTPResponseException):
            await client.rset(timeout=timeout)
        raise


def _encoding(mail: Mail) -> str:
    return "utf-8" if mail.utf8 else "ascii"


def _options(client: SMTP, mail: Mail) -> list[str]:
    options = [f"size={mail.size}"] if client.supports_extension("size") else []
    if mail.utf8:
        if not client.supports_extension("smtputf8"):
            raise SMTPNotSupported("SMTPUTF8 is not supported by this server")
        options.append("SMTPUTF8")
    return options


async def _recipients(client: SMTP, mail: Mail, timeout: float) -> dict[str, SMTPResponse]:
    refused: list[SMTPRecipientRefused] = []
    for address in mail.recipients:
        try:
            await client.rcpt(address, encoding=_encoding(mail), timeout=timeout)
        except SMTPRecipientRefused as error:
            refused.append(error)
    if len(refused) == len(mail.recipients):
        raise SMTPRecipientsRefused(refused)
    return {each.recipient: SMTPResponse(each.code, each.message) for each in refused}


async def _content(client: SMTP, mail: Mail, timeout: float) -> str:
    reply = await client.execute_command(b"DATA", timeout=timeout)
    if reply.code != CONTINUE:
        raise SMTPDataError(reply.code, reply.message)
    for chunk in mail.chunks():
        transport = cast("asyncio.WriteTransport | None", client.transport)
        if transport is None or transport.is_closing():
            raise SMTPServerDisconnected("Connection lost")
        transport.write(chunk)
        while transport.get_write_buffer_size() > BUFFERED and not transport.is_closing():  # noqa: ASYNC110  # a transport has no event
            await asyncio.sleep(DRAIN_S)
    reply = await client.execute_command(b".", timeout=timeout)
    if reply.code != COMPLETED:
        raise SMTPDataError(reply.code, reply.message)
    return reply.message
