"""The stored messages of one subject, read without a consumer: the last one, and those after a point."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.errors import APIError, NotFoundError

from rota_common.bus.connection import Bus
from rota_contracts.envelope import SEQUENCE

TIMEOUT_S = 5.0
BATCH = 256
BATCH_BYTES = 8 * 1024 * 1024
NOTHING, END = "404", "204"


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored message. `at` is the instant it was stored, `count` its `ce-sequence`, if any."""

    seq: int
    id: str
    count: int | None
    at: datetime


class SubjectLog:
    """Reads directly from any server that has the stream: the result may be a moment behind.

    Needs nats-server 2.11 (batches).
    """

    def __init__(self, bus: Bus, stream: str) -> None:
        self._bus, self._stream = bus, stream

    async def last(self, subject: str) -> Kept | None:
        """The subject's last message; None if there is none. Raises nats.errors.Error."""
        try:
            found = await self._bus.jetstream.get_last_msg(self._stream, subject, direct=True)
        except NotFoundError:
            return None
        return _kept(found.headers or {})

    async def waits(self, subject: str, event_id: str, *, durable: str) -> bool:
        """True if the stream has a message of this event under the subject that the consumer may not have acknowledged
        yet. Raises nats.errors.Error."""
        jetstream = self._bus.jetstream
        floor = (await jetstream.consumer_info(self._stream, durable)).ack_floor
        seq = (floor.stream_seq if floor else 0) + 1
        while True:
            try:
                found = await jetstream.get_msg(self._stream, seq=seq, subject=subject, next=True, direct=True)
            except NotFoundError:
                return False
            if (found.headers or {}).get("ce-id") == event_id:
                return True
            seq = (found.seq or seq) + 1

    async def after(self, subject: str, seq: int) -> list[Kept]:
        """The messages after number `seq` of the stream, oldest first. Raises nats.errors.Error."""
        found: list[Kept] = []
        while True:
            wanted = {"seq": seq + 1, "next_by_subj": subject, "batch": BATCH, "max_bytes": BATCH_BYTES}
            async with self._answers(wanted) as sub:
                batch, pending = await _batch(sub)
            found += batch
            if not batch or not pending:
                return found
            seq = batch[-1].seq

    @asynccontextmanager
    async def _answers(self, request: dict[str, Any]) -> AsyncIterator[Subscription]:
        """Send the request; the block reads the messages from the subscription."""
        client = self._bus.client
        inbox = client.new_inbox()
        sub = await client.subscribe(inbox)
        try:
            await client.publish(f"$JS.API.DIRECT.GET.{self._stream}", json.dumps(request).encode(), reply=inbox)
            yield sub
        finally:
            await sub.unsubscribe()


async def _batch(sub: Subscription) -> tuple[list[Kept], int]:
    """The messages of one batch, and the number left in the stream."""
    found: list[Kept] = []
    while True:
        message: Msg = await sub.next_msg(timeout=TIMEOUT_S)
        headers = message.headers or {}
        status = headers.get("Status")
        if status is None:
            found.append(_kept(headers))
        elif status in (END, NOTHING):
            return found, int(headers.get("Nats-Num-Pending", "0"))
        else:
            raise APIError(code=int(status), description=headers.get("Description", ""))


def _kept(headers: dict[str, str]) -> Kept:
    count = headers.get(SEQUENCE)
    return Kept(
        seq=int(headers["Nats-Sequence"]),
        id=headers.get("ce-id", ""),
        count=None if count is None else int(count),
        at=datetime.fromisoformat(headers["Nats-Time-Stamp"]),
    )
