"""A listener for missed runs, rejected triggers and dead letters."""

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from rota_contracts.catalog import ROOT, TRIGGER_MISSED, TRIGGER_REJECTED
from rota_contracts.envelope import parse_event
from tests.clock_year.scoreboard import Scoreboard


class BusListener:
    """Reads each stream in order from its beginning."""

    def __init__(self, scoreboard: Scoreboard) -> None:
        self._scoreboard = scoreboard
        self._client: Client | None = None

    async def open(self, url: str) -> None:
        self._client = await nats.connect(url)
        jetstream = self._client.jetstream()
        for stream, subject, handle in (
            (TRIGGER_MISSED.stream, TRIGGER_MISSED.pattern, self._missed),
            (TRIGGER_REJECTED.stream, TRIGGER_REJECTED.pattern, self._rejected),
            ("DEAD", f"{ROOT}.dead.>", self._buried),
        ):
            await jetstream.subscribe(subject, stream=stream, ordered_consumer=True, cb=handle)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _missed(self, message: Msg) -> None:
        event = parse_event(TRIGGER_MISSED.payload, message.headers, message.data, expected=TRIGGER_MISSED.type)
        self._scoreboard.missed(event.id, event.data.member_id, event.data.first, event.data.last, event.data.count)

    async def _rejected(self, message: Msg) -> None:
        self._scoreboard.note(f"a run was rejected: {message.data.decode()[:300]}")

    async def _buried(self, message: Msg) -> None:
        self._scoreboard.note(f"dead letter: {message.subject}: {(message.headers or {}).get('rota-dead-reason', '')}")
