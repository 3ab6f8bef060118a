"""The feed: facts counted subject by subject, 1, 2, 3 … without a gap or a double, whichever replicas publish them.

A fact carries its number and is stored only if the last message of its subject is still the one that it was counted
from: the stream decides who was first, and who comes second counts again.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Protocol, TypeVar

from nats.js.api import PubAck
from nats.js.errors import APIError

from rota_common.bus.connection import Bus
from rota_common.bus.publishing import TIMEOUT_S, Publish
from rota_common.bus.subject_log import Kept, SubjectLog
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.runtime import metrics
from rota_contracts.catalog import FEED, Channel
from rota_contracts.envelope import Event
from rota_contracts.model import Payload

P = TypeVar("P", bound=Payload)

EXPECTED_LAST = "Nats-Expected-Last-Subject-Sequence"
LOST_RACE = frozenset({10071, 10158, 10163, 10164})
"""JetStream's words for: another message of this subject came first, or is just being stored by the cluster."""

PATIENCE_S = 10.0
"""How long to go on counting anew while others are faster."""

BEHIND_S = 0.01
"""How long a server that hasn't heard yet of the message that came first is given to hear of it."""

CLOCKS_APART = timedelta(minutes=1)
"""How far our clock may be from that of NATS."""

FRESH = timedelta(minutes=1)
"""A fact that is older may have been published by somebody who took over; well within the stream's memory of ids."""

REMEMBERED = 10_000
SAVE_EVERY_S = 5.0


class Counts(Protocol):
    """How far each subject has been counted: needed once the stream has nothing of it any more."""

    async def last(self, subject: str) -> int:
        """0 if it was never counted."""
        ...

    async def keep(self, counts: Mapping[str, int]) -> None:
        """Remember these, unless a higher one is remembered."""
        ...


@dataclass
class _Subject:
    """What is known of a subject's last message: its number in the stream (0: there is none, None: not known) and its
    count. `lock`: this process doesn't race itself."""

    last: int | None = None
    count: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Feed:
    """Publishes a service's facts of the feed. Knows the newest `remembered` subjects by heart."""

    def __init__(
        self, bus: Bus, publish: Publish, counts: Counts, *, clock: Clock, remembered: int = REMEMBERED
    ) -> None:
        self._bus, self._publish, self._counts, self._clock = bus, publish, counts, clock
        self._log, self._remembered = SubjectLog(bus, FEED), remembered
        self._known: OrderedDict[str, _Subject] = OrderedDict()
        self._unsaved: dict[str, int] = {}

    async def __call__(
        self,
        channel: Channel[P],
        data: P,
        *,
        caused_by: Event[Payload] | str,
        since: datetime,
        step: str = "",
        trace: str = "",
        again: bool = False,
    ) -> Event[P]:
        """Publish `data` unless the stream has it, and wait until it is there; returns the event, with its number if
        it was stored just now.

        `since`: when the fact came into being, or earlier. `again`: it may have been published before, so it is looked
        for first, from then on: the stream's own memory of ids may have forgotten it.
        Raises nats.errors.Error when the stream didn't take it, Transient when others were always faster.
        """
        event = self._publish.event(channel, data, caused_by=caused_by, step=step, trace=trace)
        subject = channel.subject(data.team_id, data.member_id)
        known = self._subject(subject)
        async with known.lock:
            try:
                if not await self._is_there(subject, known, event.id, since, look=again or self._is_old(since)):
                    event = await self._stored(subject, known, event)
            except BaseException:  # whatever was sent may have been stored: ask before the next one
                known.last = None
                raise
        metrics.PUBLISHED.labels(event.source, channel.name).inc()
        return event

    async def keep_counts(self) -> None:
        """Save what was counted, every few seconds; a loop to run in the background."""
        try:
            while True:
                await asyncio.sleep(SAVE_EVERY_S)
                await self._save()
        finally:
            with contextlib.suppress(Exception):  # on the way out; the stream knows it too
                await self._save()

    async def _save(self) -> None:
        unsaved, self._unsaved = self._unsaved, {}
        if not unsaved:
            return
        try:
            await self._counts.keep(unsaved)
        except BaseException:
            self._unsaved = unsaved | self._unsaved
            raise

    def _subject(self, subject: str) -> _Subject:
        known = self._known.setdefault(subject, _Subject())
        self._known.move_to_end(subject)
        if len(self._known) > self._remembered:  # somebody may still be at it; the stream keeps two from one number
            self._known.popitem(last=False)
        return known

    def _is_old(self, since: datetime) -> bool:
        return self._clock() - since > FRESH

    async def _is_there(self, subject: str, known: _Subject, event_id: str, since: datetime, *, look: bool) -> bool:
        """Does the stream have it already? Without `look` only asked when nothing is known of the subject."""
        if known.last is not None and not look:
            return False
        last, begin = await self._read_last(subject, known), since - CLOCKS_APART
        if last is None or last.at < begin:
            return False
        return last.id == event_id or any(each.id == event_id for each in await self._log.since(subject, begin))

    async def _read_last(self, subject: str, known: _Subject) -> Kept | None:
        """Where to count on: from the subject's last message, or from what was saved when the stream has none."""
        last = await self._log.last(subject)
        known.last = 0 if last is None else last.seq
        if last is not None and last.count is not None:
            known.count = last.count
        else:
            known.count = max(known.count, await self._counts.last(subject))
        return last

    async def _stored(self, subject: str, known: _Subject, event: Event[P]) -> Event[P]:
        """The event with its number; as it was if it turns out that the stream has it."""
        until = monotonic() + PATIENCE_S
        while True:
            numbered = replace(event, sequence=known.count + 1)
            try:
                ack = await self._sent(subject, numbered, known.last or 0)
            except APIError as error:
                if error.err_code not in LOST_RACE:
                    raise
                if await self._is_among_newer(subject, known, event.id):
                    return event
            else:
                return self._noted(subject, known, numbered, ack) or event
            if monotonic() > until:
                raise Transient(f"others published on {subject} for {PATIENCE_S:g} s, and each time before us")

    async def _sent(self, subject: str, event: Event[P], last: int) -> PubAck:
        headers = event.headers() | {EXPECTED_LAST: str(last)}
        return await self._bus.jetstream.publish(subject, event.body(), timeout=TIMEOUT_S, stream=FEED, headers=headers)

    def _noted(self, subject: str, known: _Subject, event: Event[P], ack: PubAck) -> Event[P] | None:
        """The event if it was stored; None if the stream recognised its id: its number is another one."""
        if ack.duplicate:
            known.last = None
            return None
        known.last, known.count = ack.seq, known.count + 1
        self._unsaved[subject] = known.count
        return event

    async def _is_among_newer(self, subject: str, known: _Subject, event_id: str) -> bool:
        """After a lost race: catch up with the subject. Was it this very event that came first?"""
        newer = await self._log.after(subject, known.last or 0)
        if newer and newer[-1].count is not None:
            known.last, known.count = newer[-1].seq, newer[-1].count
        else:  # the server that was asked is behind, or what was last has left the stream
            await asyncio.sleep(BEHIND_S)
            await self._read_last(subject, known)
        return any(each.id == event_id for each in newer)
