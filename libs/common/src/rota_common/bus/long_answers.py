"""Answers that are longer than a message: the same question again, by an asker that takes its answer in parts.

The first answer says only that it is too long, so that what fits costs nothing more. Parts arrive in order, because one
responder sends them over one connection.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from nats.aio.msg import Msg
from nats.errors import NoRespondersError

from rota_common.bus.connection import Bus
from rota_common.bus.publishing import TooLarge, room
from rota_common.nats_admin.permissions import ANSWER_PARTS

PARTS = "rota-parts"
"""In a request: the most parts that are taken. In an answer: the number of its parts, or `MORE`."""

MORE = "more"
"""The answer needs parts, and the request takes none."""

AT_ONCE = 2
"""Long answers that one service receives at the same time; others wait, so that they don't fill its memory."""

NO_RESPONDERS = "503"


def most_bytes(bus: Bus) -> int:
    """Bytes that an answer may have."""
    return ANSWER_PARTS * room(bus)


def split(bus: Bus, answer: bytes) -> Iterator[bytes]:
    size = room(bus)
    return (answer[start : start + size] for start in range(0, len(answer), size))


def check_answer(bus: Bus, what: str, answer: bytes) -> None:
    """Raise TooLarge for an answer that doesn't fit into as many parts as there may be."""
    if len(answer) > most_bytes(bus):
        raise TooLarge(
            f"{what} has {len(answer)} bytes, and an answer may have {most_bytes(bus)}: ask for less at once"
        )


@dataclass
class LongAnswers:
    """The long answers that one service receives."""

    bus: Bus
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def ask(self, subject: str, body: bytes, *, timeout: float) -> Msg:
        """The answer's last message with all parts as its data, or the only message of a failure.

        Raises nats.errors.Error and TimeoutError, which also means that too many long answers are under way.
        """
        async with asyncio.timeout(timeout), self._turns:
            client = self.bus.client
            inbox = client.new_inbox()
            sub = await client.subscribe(inbox)
            try:
                await client.publish(subject, body, reply=inbox, headers={PARTS: str(ANSWER_PARTS)})
                parts: list[bytes] = []
                while True:
                    message = await sub.next_msg(timeout=timeout)
                    headers = message.headers or {}
                    if headers.get("Status") == NO_RESPONDERS:
                        raise NoRespondersError
                    parts.append(message.data)
                    if len(parts) >= int(headers.get(PARTS, "1")):
                        message.data = b"".join(parts)
                        return message
            finally:
                await sub.unsubscribe()
