"""The feed: facts numbered by subject, 1, 2, 3 … without gaps or duplicates, whichever replicas publish them.

A fact carries its number, and is stored only if the last message of its subject is still the one that the number was
derived from: the stream decides a race between two replicas, and the loser takes the next number.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import inf
from time import monotonic
from typing import Protocol, TypeVar

from nats.js.api import PubAck
from nats.js.errors import APIError

from rota_common.bus.connection import Bus
from rota_common.bus.publishing import TIMEOUT_S, Publish, check_size
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
"""JetStream's error codes for: another message of this subject was first, or is being stored by the cluster."""

PATIENCE_S = 10.0
"""Seconds to retry lost races before giving up."""

BEHIND_S = 0.01
"""Seconds to wait for a server that doesn't have the winner's message yet."""

IN_A_ROW = 8
"""Facts of one subject that a replica stores one right after another before it pauses, if it isn't alone. One that
lost a race needs two round trips to come back where the winner needs one, so it would go on losing while the winner's
queue lasts."""

RIVAL_S = 60.0
"""Seconds after a lost race in which another replica is expected to publish, too."""

PAUSE_TRIPS = 3
"""Round trips of a pause: enough for one that has just lost to catch up and to store its fact."""

FRESH = timedelta(minutes=1)
"""An older fact may have been published by another replica; well within the stream's duplicate window."""

REMEMBERED = 10_000
SAVE_EVERY_S = 5.0


class Counts(Protocol):
    """The last number of each subject, for subjects whose messages have left the stream."""

    async def last(self, subject: str) -> int:
        """The last number of the subject; 0 if there is none."""
        ...

    async def keep(self, counts: Mapping[str, int]) -> None:
        """Store these numbers, unless a higher one is stored."""
        ...


@dataclass
class _Subject:
    """The last message of a subject: `last` is its number in the stream (0: there is none, None: unknown), `count` its
    number in the subject. `lock`: this process doesn't race itself. `in_a_row`: facts stored without a pause;
    `lost_at`: seconds of the monotonic clock when another replica was faster."""

    last: int | None = None
    count: int = 0
    in_a_row: int = 0
    lost_at: float = -inf
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Feed:
    """Publishes a service's facts of the feed. Caches the newest `remembered` subjects."""

    def __init__(
        self, bus: Bus, publish: Publish, *, counts: Counts, clock: Clock, remembered: int = REMEMBERED
    ) -> None:
        self._bus, self._publish = bus, publish
        self._counts, self._clock = counts, clock
        self._log, self._remembered = SubjectLog(bus, FEED), remembered
        self._known: OrderedDict[str, _Subject] = OrderedDict()
        self._unsaved: dict[str, int] = {}
        self._position: int | None = None

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
        after: int = 0,
    ) -> Event[P]:
        """Publish `data` unless the stream has it, wait until it is stored, and return the event, with its number if
        it was stored just now.

        `since`: the instant of the fact, or earlier. `again`: it may have been published before, so the stream is
        searched, as its duplicate window may be over. `after`: a `position` from before it was first published, where
        the search begins; 0: all facts of the subject are searched.
        Raises nats.errors.Error if the stream didn't store it, TooLarge if it never will, Transient if other replicas
        won every race.
        """
        event = self._publish.event(channel, data, caused_by=caused_by, step=step, trace=trace)
        subject = channel.subject(data.team_id, data.member_id)
        known = self._subject(subject)
        if not known.lock.locked():
            known.in_a_row = 0
        async with known.lock:
            try:
                look = again or self._is_old(since)
                if not await self._is_there(subject, known, event.id, after, look=look):
                    event = await self._stored(subject, known, event)
            except BaseException:  # the message may have been stored: read the subject before the next one
                known.last = None
                raise
        metrics.PUBLISHED.labels(event.source, channel.name).inc()
        return event

    async def position(self) -> int:
        """A number of the stream: whatever is published from now on gets a higher one. Raises nats.errors.Error."""
        if self._position is None:
            info = await self._bus.jetstream.stream_info(FEED)
            self._position = max(info.state.last_seq, self._position or 0)
        return self._position

    async def save_counts(self) -> None:
        """Save the numbers that are new: every `SAVE_EVERY_S`, and at the end. The stream has them too."""
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
        if len(self._known) > self._remembered:  # if it is in use, the stream still refuses a second of one number
            self._known.popitem(last=False)
        return known

    def _is_old(self, since: datetime) -> bool:
        return self._clock() - since > FRESH

    async def _is_there(self, subject: str, known: _Subject, event_id: str, after: int, *, look: bool) -> bool:
        """True if the stream has the event. Without `look`, only checked if the subject is unknown."""
        if known.last is not None and not look:
            return False
        last = await self._read_last(subject, known)
        if last is None or last.seq <= after:
            return False
        return last.id == event_id or any(each.id == event_id for each in await self._log.after(subject, after))

    async def _read_last(self, subject: str, known: _Subject) -> Kept | None:
        """Set the subject's numbers from its last message, or from the saved ones if the stream has none."""
        last = await self._log.last(subject)
        known.last = 0 if last is None else last.seq
        if last is not None and last.count is not None:
            known.count = last.count
        else:
            known.count = max(known.count, await self._counts.last(subject))
        return last

    async def _stored(self, subject: str, known: _Subject, event: Event[P]) -> Event[P]:
        """Store the event with its number; returned unchanged if the stream turns out to have it."""
        until = monotonic() + PATIENCE_S
        while True:
            began = monotonic()
            numbered = replace(event, sequence=known.count + 1)
            try:
                ack = await self._sent(subject, numbered, known.last or 0)
            except APIError as error:
                if error.err_code not in LOST_RACE:
                    raise
                if await self._is_among_newer(subject, known, event.id):
                    return event
                known.in_a_row, known.lost_at = 0, monotonic()
            else:
                await self._pause(known, trip=monotonic() - began)
                return self._noted(subject, known, numbered, ack) or event
            if monotonic() > until:
                raise Transient(f"other replicas won every race on {subject} for {PATIENCE_S:g} s")

    async def _sent(self, subject: str, event: Event[P], last: int) -> PubAck:
        headers, body = event.headers() | {EXPECTED_LAST: str(last)}, event.body()
        check_size(self._bus, subject, body, headers)
        return await self._bus.jetstream.publish(subject, body, timeout=TIMEOUT_S, stream=FEED, headers=headers)

    async def _pause(self, known: _Subject, *, trip: float) -> None:
        known.in_a_row += 1
        if known.in_a_row >= IN_A_ROW and monotonic() - known.lost_at < RIVAL_S:
            await asyncio.sleep(PAUSE_TRIPS * trip)
            known.in_a_row = 0

    def _noted(self, subject: str, known: _Subject, event: Event[P], ack: PubAck) -> Event[P] | None:
        """The event if it was stored; None for a duplicate, which has another number."""
        if ack.duplicate:
            known.last = None
            return None
        known.last, known.count = ack.seq, known.count + 1
        if self._position is not None:
            self._position = max(self._position, ack.seq)
        self._unsaved[subject] = known.count
        return event

    async def _is_among_newer(self, subject: str, known: _Subject, event_id: str) -> bool:
        """Catch up with the subject after a lost race; True if this event itself was stored first."""
        newer = await self._log.after(subject, known.last or 0)
        if newer and newer[-1].count is not None:
            known.last, known.count = newer[-1].seq, newer[-1].count
        else:  # this server is behind, or the last message has left the stream
            await asyncio.sleep(BEHIND_S)
            await self._read_last(subject, known)
        return any(each.id == event_id for each in newer)
