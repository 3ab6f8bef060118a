"""The export of spans: a queue with a limit, in batches, each tried a few times. It never keeps its service waiting."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from time import monotonic
from typing import Protocol

from rota_common.retries import backoff
from rota_common.runtime.logs import logger
from rota_common.runtime.metrics import SPANS
from rota_common.spans.otlp import encoded, export_request
from rota_contracts.messages.run_trace import TraceSpan
from rota_contracts.streams import MIB

QUEUE, BATCH = 8192, 256
QUEUE_BYTES, BATCH_BYTES = 32 * MIB, 2 * MIB
"""Spans that may wait, and those of one request."""

TRIES = 5
CAP_S = 30.0
FLUSH_S = 2.0
"""Time of the last sending, when the service stops."""

WAIT_S = 1.0
"""How long spans may wait for others to be sent with."""


class Sent(StrEnum):
    """The receiver's answer. `LATER`: it is away or busy; `REFUSED`: it will not take these spans."""

    TAKEN = "taken"
    LATER = "later"
    REFUSED = "refused"


class Receiver(Protocol):
    async def send(self, body: bytes) -> Sent:
        """Send one request of OTLP in JSON. Raises nothing, and ends by itself."""
        ...

    async def close(self) -> None: ...


@dataclass(kw_only=True)
class ExportSpans:
    """Without a `receiver` spans are dropped as they come, and nothing is counted."""

    service: str
    receiver: Receiver | None
    random: Random
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    limit: int = QUEUE
    _queue: deque[bytes] = field(default_factory=deque, init=False)
    _sending: list[bytes] = field(default_factory=list, init=False)
    _bytes: int = field(default=0, init=False)

    @property
    def on(self) -> bool:
        return self.receiver is not None

    @property
    def waiting(self) -> int:
        """Spans that wait or are being sent."""
        return len(self._queue) + len(self._sending)

    @property
    def crowded(self) -> bool:
        """Is more than half of the queue taken?"""
        return self.waiting > self.limit // 2 or self._bytes > QUEUE_BYTES // 2

    def offer(self, spans: Sequence[TraceSpan]) -> None:
        """Take what the queue has room for; the rest is lost and counted."""
        if self.receiver is None:
            return
        for span in spans:
            body = encoded(span)
            if self.waiting >= self.limit or self._bytes + len(body) > QUEUE_BYTES:
                self.lost(1, "full")
                continue
            self._queue.append(body)
            self._bytes += len(body)

    def lost(self, count: int, why: str) -> None:
        """Count spans that are lost before they were offered, too."""
        if count > 0:
            SPANS.labels(self.service, f"lost: {why}").inc(count)

    async def __call__(self) -> bool:
        """Send one batch, and try it again a few times; True if there are more spans."""
        if self.receiver is None or not self._take():
            return False
        for number in range(1, TRIES + 1):
            answer = await self._send(self.receiver)
            if answer is not Sent.LATER:
                break
            if number < TRIES:
                await self.pause(backoff(number, random=self.random, cap=CAP_S))
        if answer is Sent.LATER:
            logger(service=self.service).warning("spans lost: their receiver is away", spans=len(self._sending))
        self._settle(answer)
        return bool(self._queue)

    async def stop(self) -> None:
        """Send what is left, as far as it goes in 2 seconds; the rest is lost and counted."""
        if self.receiver is None:
            return
        until = monotonic() + FLUSH_S
        while self._take() and (left := until - monotonic()) > 0:
            try:
                answer = await asyncio.wait_for(self._send(self.receiver), left)
            except TimeoutError:
                break
            self._settle(answer)
            if answer is Sent.LATER:
                break
        self.lost(self.waiting, "unreachable")
        self._queue.clear()
        self._sending.clear()
        self._bytes = 0
        await self.receiver.close()

    def _take(self) -> bool:
        """Whether there is a batch to send: that of an interrupted sending first."""
        size = sum(map(len, self._sending))
        while self._queue and len(self._sending) < BATCH and (not size or size + len(self._queue[0]) <= BATCH_BYTES):
            size += len(self._queue[0])
            self._sending.append(self._queue.popleft())
        return bool(self._sending)

    async def _send(self, receiver: Receiver) -> Sent:
        return await receiver.send(export_request(self._sending, service=self.service))

    def _settle(self, answer: Sent) -> None:
        if answer is Sent.TAKEN:
            SPANS.labels(self.service, "sent").inc(len(self._sending))
        else:
            self.lost(len(self._sending), "refused" if answer is Sent.REFUSED else "unreachable")
        self._bytes -= sum(map(len, self._sending))
        self._sending.clear()
