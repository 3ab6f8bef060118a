"""Ingests events: a new one is published and logged, a repeat gets the stored answer and starts nothing."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rota_common.single_flight import SingleFlight
from rota_contracts.messages.trigger import TriggerReceivedV1
from trigger_gateway.problems import Conflict
from trigger_gateway.robots.routes import Route
from trigger_gateway.runs.backlogs import Backlogs
from trigger_gateway.runs.guard_input import GuardInput
from trigger_gateway.runs.ports import Triggers
from trigger_gateway.webhooks.inbound_event import InboundEvent, StartedRun, triggers_of
from trigger_gateway.webhooks.inbound_log import LogEntry
from trigger_gateway.webhooks.ports import InboundLog
from trigger_gateway.webhooks.rate_limits import RateLimiter

AT_ONCE = 64
"""Triggers of one event that are published side by side."""

Key = tuple[str, str, str]


@dataclass(frozen=True)
class IngestResult:
    """An event and the runs that it started: the same for every repeat of the event. `covered`: robots subscribe to
    such events, although none started a run."""

    event: InboundEvent
    runs: tuple[StartedRun, ...] = ()
    repeated: bool = False
    covered: bool = False


@dataclass(frozen=True)
class _Ingested:
    """The event's entry in the log, and whether it was there before."""

    entry: LogEntry
    repeated: bool
    logged: bool = False


@dataclass(frozen=True, kw_only=True)
class IngestEvent:
    """Posts of the same event that come at the same time wait for the first of them."""

    rates: RateLimiter
    triggers: Triggers
    log: InboundLog
    backlogs: Backlogs
    guard: GuardInput = field(default_factory=GuardInput)
    _flights: SingleFlight[Key, _Ingested] = field(init=False, default_factory=SingleFlight)

    async def __call__(self, event: InboundEvent, digest: str, route: Route, *, trace: str = "") -> IngestResult:
        """Raise Conflict for another body under the same id, TooMany, and Transient when it can't be stored now."""
        key = event.team, event.source, event.id
        if (under_way := self._flights.join(key)) is not None:
            first = replace(await under_way, repeated=True, logged=True)
        else:
            first = await self._flights.start(key, self._ingest(event, digest, route, trace))
        if first.entry.digest not in ("", digest):
            text = f"the event {event.id} came with another body before: an id names one event for 30 days"
            raise Conflict("event_id_reused", text)
        if first.logged:
            self.log.repeated(replace(first.entry.event, received_at=event.received_at))
        runs = tuple(first.entry.runs)
        covered = not runs and any(each.covers(event.source, event.type, kind=event.kind) for each in route.subscribers)
        return IngestResult(first.entry.event, runs, first.repeated, covered)

    async def _ingest(self, event: InboundEvent, digest: str, route: Route, trace: str) -> _Ingested:
        if entry := await self.log.recall(event.team, event.source, event.id):
            return _Ingested(entry, repeated=True, logged=True)
        if event.body_id and (entry := await self.log.recall_body(event.team, event.source, digest)):
            return _Ingested(entry, repeated=True, logged=True)
        settings = route.source.need_webhook()
        await self.rates.by_source(event.team, event.source, settings.rate_limit)
        triggers = triggers_of(event, route.subscribers)
        self.guard.check(event.team, [each.member_id for each in triggers], event.type, dict(event.data))
        self.backlogs.check(event.team, (each.member_id for each in triggers))
        new = await self._publish(triggers, trace)
        # Not new: another replica is just ingesting it, or the one that did was killed before it wrote its entry.
        if not new and (entry := await self.log.await_entry(event.team, event.source, event.id)):
            return _Ingested(entry, repeated=True, logged=True)
        entry = LogEntry(event, [StartedRun(each.trigger_id, each.member_id) for each in triggers], digest)
        await self.log.add(entry)
        return _Ingested(entry, repeated=not new)

    async def _publish(self, triggers: Sequence[TriggerReceivedV1], trace: str) -> bool:
        """False if the stream had stored all of them just before.

        A publish that fails after others succeeded is harmless: the sender's repeat makes the same triggers again.
        """
        if len(triggers) == 1:
            return await self.triggers.publish(triggers[0], trace=trace)
        new = not triggers
        for start in range(0, len(triggers), AT_ONCE):
            some = triggers[start : start + AT_ONCE]
            stored = await asyncio.gather(*(self.triggers.publish(trigger, trace=trace) for trigger in some))
            new = new or any(stored)
        return new
