"""What the schedulers tell everybody: runs that are missed, triggers that are refused, messages that are buried."""

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from rota_contracts.catalog import ROOT, TRIGGER_MISSED, TRIGGER_REJECTED
from rota_contracts.envelope import parse_event
from tests.clock_year.scoreboard import Book


class Ears:
    """Reads each stream in order from its beginning; the server keeps for it nothing else."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._client: Client | None = None

    async def open(self, url: str) -> None:
        self._client = await nats.connect(url)
        jetstream = self._client.jetstream()
        for stream, subject, hear in (
            (TRIGGER_MISSED.stream, TRIGGER_MISSED.pattern, self._missed),
            (TRIGGER_REJECTED.stream, TRIGGER_REJECTED.pattern, self._rejected),
            ("DEAD", f"{ROOT}.dead.>", self._buried),
        ):
            await jetstream.subscribe(subject, stream=stream, ordered_consumer=True, cb=hear)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _missed(self, message: Msg) -> None:
        event = parse_event(TRIGGER_MISSED.payload, message.headers, message.data, expected=TRIGGER_MISSED.type)
        self._book.missed(event.id, event.data.member_id, event.data.first, event.data.last, event.data.count)

    async def _rejected(self, message: Msg) -> None:
        self._book.note(f"a run was refused: {message.data.decode()[:300]}")

    async def _buried(self, message: Msg) -> None:
        self._book.note(f"buried: {message.subject}: {(message.headers or {}).get('rota-dead-reason', '')}")
