"""Recognises events that came before (TG-31): a repeat gets the stored answer and starts nothing (DEC-6)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rota_common.errors import Transient
from trigger_gateway.problems import Conflict
from trigger_gateway.webhooks.inbound_event import InboundEvent, Woken
from trigger_gateway.webhooks.inbound_log import InboundLog, Logged

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Taken:
    """What accepting an event has made. `new`: nobody had stored one of its triggers just before."""

    woken: tuple[Woken, ...]
    new: bool = True


@dataclass(frozen=True)
class Received:
    """An event and the triggers it became: the same for every repeat of the event."""

    event: InboundEvent
    woken: tuple[Woken, ...]
    repeated: bool = False


@dataclass(frozen=True)
class _Outcome:
    """How the first of several requests for the same event ended: exactly one is set, or none if it says nothing."""

    entry: Logged | None = None
    error: Exception | None = None


class Recognise:
    """`accept` runs for the first of the requests with the same event; those that come meanwhile wait for it."""

    def __init__(self, log: InboundLog) -> None:
        self._log = log
        self._in_hand: dict[Key, asyncio.Future[_Outcome]] = {}

    async def __call__(self, event: InboundEvent, digest: str, accept: Callable[[], Awaitable[Taken]]) -> Received:
        """Raise Conflict for another body under the same id, and what `accept` raises."""
        key = event.team, event.source, event.id
        while (first := self._in_hand.get(key)) is not None:
            outcome = await asyncio.shield(first)
            if outcome.error is not None:  # it would fail here too, and each in turn would wait as long
                raise Transient(str(outcome.error)) from outcome.error
            if outcome.entry is not None:
                return self._again(event, digest, outcome.entry)
        mine = self._in_hand[key] = asyncio.get_running_loop().create_future()
        outcome = _Outcome()
        try:
            received = await self._first(event, digest, accept)
            outcome = _Outcome(Logged(received.event, received.woken, digest))
            return received
        except Transient as error:
            outcome = _Outcome(error=error)
            raise
        finally:
            del self._in_hand[key]
            mine.set_result(outcome)

    async def _first(self, event: InboundEvent, digest: str, accept: Callable[[], Awaitable[Taken]]) -> Received:
        if entry := await self._log.recall(event.team, event.source, event.id):
            return self._again(event, digest, entry)
        taken = await accept()
        if taken.new:
            entry = None
        else:  # another replica is just accepting it, or the one that did was killed before it noted it
            entry = await self._log.await_entry(event.team, event.source, event.id)
        if entry:
            return self._again(event, digest, entry)
        await self._log.add(Logged(event, taken.woken, digest))
        return Received(event, taken.woken, repeated=not taken.new)

    def _again(self, event: InboundEvent, digest: str, entry: Logged) -> Received:
        if entry.digest and entry.digest != digest:
            text = f"the event {event.id} came with another body before: an id names one event for 30 days"
            raise Conflict("event_id_reused", text)
        self._log.repeated(event)
        return Received(entry.event, tuple(entry.woken), repeated=True)
