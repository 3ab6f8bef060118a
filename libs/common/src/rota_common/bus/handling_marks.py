"""Marks of messages that are handled again and again: the times that a handler began and reached no verdict.

The server counts deliveries, but not how they ended: a message that was handed back and one whose handler ended the
process look the same. So from the third delivery on a mark is stored before a message is handled, and taken back with
the verdict. What is left counts the workers that ended.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from rota_common.bus.connection import Bus
from rota_common.errors import Permanent, Transient
from rota_contracts.streams import HANDLING_STREAM, handling_subject

MARKED_FROM = 3
"""Deliveries: most messages that come again come once more, and cost no mark."""

SUSPECT_FROM = 2
"""Ended workers: one that is killed leaves marks at all that it had in hand, and none of these is to blame."""

MAX_ENDED = 4
TIMEOUT_S = 2.0
SUSPECT_WAIT_S = 5.0
TURN_S = 1.0
"""How long a suspect may take while others wait for it with the slots that they hold. A worker that ended with a batch
leaves as many suspects as the batch had messages, and most handlers need a moment."""


@dataclass(kw_only=True)
class HandlingMarks:
    """The marks of a service. A message that two workers have ended with is a suspect: a process handles one of those
    at a time, so that a message that was only beside the guilty one isn't buried with it."""

    bus: Bus
    _suspect: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _turns: int = field(default=0, init=False)

    @contextlib.asynccontextmanager
    async def around(self, message: Msg, durable: str) -> AsyncIterator[None]:
        """Mark the message while it is handled inside. Raises Permanent if its workers ended too often, and Transient
        if it must wait for another suspect, or for a worker that may live still.

        On a machine that is too busy for signs of life the server delivers what is being handled: those workers look
        like ended ones until they reach their verdict. So there is a wait before the last word."""
        if message.metadata.num_delivered < MARKED_FROM:
            yield
            return
        subject = handling_subject(durable, message.metadata.sequence.stream)
        ended = await self._read(subject)
        if ended > MAX_ENDED:
            raise Permanent(f"its worker ended {MAX_ENDED} times while it handled this message, and reached no verdict")
        if ended == MAX_ENDED:
            await self._store(subject, ended + 1)
            raise Transient("a message that its workers seem to have ended with waits for them", after=SUSPECT_WAIT_S)
        async with self._alone() if ended >= SUSPECT_FROM else contextlib.nullcontext():
            await self._store(subject, ended + 1)
            try:
                yield
            finally:
                await self._store(subject, 0)

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Wait for the suspects that came before, as long as each ends soon; else raise Transient."""
        while True:
            before = self._turns
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TURN_S):
                    await self._suspect.acquire()
                break
            if self._turns == before:
                raise Transient(
                    "a message that its workers have ended with waits for another one", after=SUSPECT_WAIT_S
                )
        try:
            yield
        finally:
            self._turns += 1
            self._suspect.release()

    async def _read(self, subject: str) -> int:
        """0 without a mark, and when NATS is away: then nothing is known."""
        try:
            mark = await self.bus.jetstream.get_last_msg(HANDLING_STREAM, subject, direct=True)
        except (NotFoundError, NatsError, OSError):
            return 0
        return int(mark.data or b"0")

    async def _store(self, subject: str, ended: int) -> None:
        with contextlib.suppress(NatsError, OSError):
            await self.bus.jetstream.publish(subject, str(ended).encode(), timeout=TIMEOUT_S, stream=HANDLING_STREAM)
